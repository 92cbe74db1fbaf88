"""A dry run lists the core hours of each case and process count."""

from functools import partial

import pytest
from cluster_plans import plan_on_cluster
from refused import refusal

from workflows.domain import InputError
from workflows.plan.announce import announce
from workflows.plan.cost_table import cost_table

STUDY = """
name: table
cases: [sedan-80k, sedan-smoke]
interconnects: [ucx_tcp, ucx_verbs]
processes: [1, 4]
blocks: 6
limits: {core_hours: 1000}
"""


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(plan_on_cluster, tmp_path, "")


def test_core_hours_by_hand(plan_of):
    """19 s serially on a node of two cores, and 19 x 2 / 4 = 9.5 s on 4 cores, each after 0.7 s of start-up.

    6 x 19.7 x 2 / 3600 = 0.066 core hours, and 12 x 10.2 x 4 / 3600 = 0.136.
    """
    assert cost_table(plan_of(STUDY)) == [
        "  case         processes  runs  nodes per job  walltime (min)  core hours of whole nodes",
        "  sedan-80k            1     6              1               8                      0.066",
        "  sedan-80k            4    12              2               8                       0.14",
        "  sedan-smoke          1     6              1               8                     0.0043",
        "  sedan-smoke          4    12              2               8                      0.013",
    ]


def test_the_most_expensive_rows_come_first_if_there_are_many(plan_of):
    lines = cost_table(plan_of(STUDY.replace("[1, 4]", "[1, 2, 3, 4, 5, 6]")))
    assert len(lines) == 12 and lines[-1].startswith("  2 further rows: ")
    hours = [float(line.split()[-1]) for line in lines[1:-1]]
    assert hours == sorted(hours, reverse=True)


def test_a_single_row_is_no_table(plan_of):
    assert cost_table(plan_of(STUDY.replace("sedan-80k, ", "").replace("[1, 4]", "[1]"))) == []


@pytest.mark.parametrize(("is_dry_run", "limit", "shown"), [(True, 9, 1), (False, 9, 0), (False, 0.1, 1)])
def test_dry_runs_and_refused_studies_show_the_table(plan_of, capsys, is_dry_run, limit, shown):
    plan = plan_of(STUDY.replace("1000", str(limit)))
    if limit < 1:
        refusal(InputError, announce, plan, is_dry_run)
    else:
        announce(plan, is_dry_run)
    assert (
        capsys.readouterr().err.count(
            "  case         processes  runs  nodes per job  walltime (min)  core hours of whole nodes\n"
        )
        == shown
    )
