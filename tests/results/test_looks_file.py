"""Reports that count as looks at a study, and complete blocks."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from refused import refusal
from small_records import record
from study_files import study_file

from analysis.runs.facts import AboutStudy, AboutTarget, Facts
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.plan.plan import make_plan
from workflows.plan.record import Record
from workflows.results.looks import looks, note_look, recorded_blocks

STUDY = f"""
name: small
cases: [harmonic-smoke]
cases_folder: {ROOT}/tests/cases
interconnects: [shared_memory]
processes: [1, 2]
blocks: 3
"""


@pytest.fixture
def design(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_plan(study_file(tmp_path, STUDY)).design


def records(design, *blocks):
    """A record of each point in some blocks."""
    kept = record(cluster=None)
    columns = {key: getattr(kept, key) for key in ("study", "application", "kind", "repetition", "attempt")}
    columns |= {"started": kept.started}
    return [
        Record.of_point(point, **columns, block=block, inputs=design.inputs(point))
        for block in blocks
        for point in design.points
    ]


def test_a_block_is_whole_once_all_of_its_points_are_recorded(design):
    assert recorded_blocks(design, []) == 0
    assert recorded_blocks(design, records(design, 1, 2)) == 2
    assert recorded_blocks(design, records(design, 1, 2, 3)[:-1]) == 2
    assert recorded_blocks(design, records(design, 1, 2, 3)) == 3


def test_recorded_blocks_beyond_the_study_count(design):
    """After blocks=5 on the command line, the study file asks for three blocks again."""
    assert recorded_blocks(design, records(design, 1, 2, 3, 4, 5)) == 5
    assert recorded_blocks(design, records(design, 1, 2, 3, 4, 5)[:-1]) == 4
    assert recorded_blocks(design, records(design, 1, 2, 4, 5)) == 2


def test_records_of_other_inputs_and_of_jobs_that_ended_do_not_make_a_block_whole(design):
    *others, last = records(design, 1, 2, 3)
    assert recorded_blocks(design, [*others, replace(last, inputs={"case": "old"})]) == 2
    assert recorded_blocks(design, [*others, replace(last, interrupted=True)]) == 2
    assert recorded_blocks(design, [*others, *[replace(last, interrupted=True)] * 3]) == 3


def test_points_that_cannot_be_run_here_count_by_their_records(design):
    nothing = replace(design, points=())
    assert recorded_blocks(nothing, []) is None
    assert recorded_blocks(nothing, records(design, 1, 2)) == 2


def facts(blocks, recorded=None, **study):
    recorded = blocks if recorded is None else recorded
    return Facts(study=AboutStudy(blocks=blocks, blocks_recorded=recorded, **study), made="2026-11-23")


def runs(started=("2026-11-20T12:00",), blocks=6, cases=("harmonic",), **columns):
    """Valid runs of two interconnects in some blocks; the first run of each start, the others later."""
    rows = [
        {"case": case, "block": block, "interconnect": interconnect}
        for case in cases
        for block in range(1, blocks + 1)
        for interconnect in ("shared_memory", "tcp_loopback")
    ]
    starts = [*started, *[max(started)] * len(rows)][: len(rows)]
    made = pd.DataFrame(rows).assign(started=starts, origin="run", valid=True, loss=None)
    made = made.assign(processes=2, oversubscription=1, threads=1, nodes=1)
    return made.assign(**columns)


def blocks_in(file, case="harmonic"):
    """The blocks of a case at the looks in a file."""
    return [look["cases"][case]["blocks"] for look in json.loads(file.read_text())["looks"]]


def tables(verdict="not distinguishable", p_value=0.4, least_p=0.03):
    """A table with one comparison."""
    columns = {"case": "harmonic", "p_value": p_value, "least_p": least_p, "verdict": verdict}
    return {"improvement": pd.DataFrame([columns]), "peaks": pd.DataFrame({"reached": [True]})}


@pytest.mark.parametrize(
    ("made", "names_baseline", "is_look"),
    [
        (tables(), True, True),
        (tables("untestable with 5 blocks", least_p=0.06), False, False),
        (tables("untestable with 6 blocks"), True, False),  # one of two comparisons
        (tables("untestable with 6 blocks"), False, True),  # the title tests it without correction
        (tables(None, np.nan, np.nan), True, False),
        ({}, True, False),
    ],
)
def test_a_report_that_could_not_decide_a_comparison_is_no_look(tmp_path, made, names_baseline, is_look):
    file = tmp_path / "looks.json"
    note_look(file, facts(6, names_baseline=names_baseline), made, runs())
    assert looks(file, runs(blocks=8)) == {"harmonic": 2 if is_look else 1}


def test_looks_are_whole_reports_of_more_blocks(tmp_path):
    file = tmp_path / "looks.json"
    assert looks(file, runs()) == {"harmonic": 1}
    for study_facts in (facts(6, 2), facts(6), facts(6), facts(12, 7), facts(12)):
        note_look(file, study_facts, tables(), runs(blocks=study_facts.study.blocks))
    assert blocks_in(file) == [6, 12]
    assert looks(file, runs(blocks=24)) == {"harmonic": 3}
    assert looks(file, runs(blocks=12)) == {"harmonic": 2}  # made again, it is the look that it was


def test_a_repeated_case_has_a_further_look(tmp_path):
    """Blocks 7 to 12 of one case are repeated runs, and the study still asks for 6 blocks."""
    file = tmp_path / "looks.json"
    before = runs(cases=("elbow", "harmonic"))
    note_look(file, facts(6), tables(), before)
    assert blocks_in(file, "elbow") == blocks_in(file) == [6]
    repeated = pd.concat([before, runs(blocks=12, cases=("elbow",)).iloc[12:]])
    assert looks(file, before) == {"elbow": 1, "harmonic": 1}
    assert looks(file, repeated) == {"elbow": 2, "harmonic": 1}
    note_look(file, facts(6), tables(), repeated)
    assert looks(file, repeated) == {"elbow": 2, "harmonic": 1}
    new = pd.concat([repeated, runs(cases=("new",))])
    assert looks(file, new) == {"elbow": 2, "harmonic": 1, "new": 1}
    more = runs(blocks=13, cases=("elbow", "harmonic"))
    assert looks(file, more) == {"elbow": 3, "harmonic": 2}


def looks_after(tmp_path, before, after):
    """Looks of a report of the runs `after`, if an earlier report showed the runs `before`."""
    file = tmp_path / "looks.json"
    note_look(file, facts(6), tables(), before)
    number = looks(file, after).get("harmonic")
    file.unlink()
    return number


def test_only_compared_runs_make_a_further_look(tmp_path):
    before, more = runs(), runs(blocks=8)
    assert looks_after(tmp_path, before, more) == 2
    of_one = more[(more["block"] <= 6) | (more["interconnect"] == "shared_memory")]
    assert looks_after(tmp_path, before, of_one) == 1
    outdated = more.assign(loss=["outdated" if block > 6 else None for block in more["block"]])
    assert looks_after(tmp_path, before, outdated) == 1
    assert looks_after(tmp_path, before, more.assign(valid=False, loss="wrong_answer")) == 2


@pytest.mark.parametrize("column", ["oversubscription", "threads", "nodes"])
def test_levels_placements_and_threads_of_one_interconnect_are_compared(tmp_path, column):
    def of_one(blocks):
        return runs(blocks=blocks, interconnect="shared_memory", **{column: [1, 2] * blocks})

    assert looks_after(tmp_path, of_one(6), of_one(8)) == 2


def test_all_runs_of_a_case_with_imported_runs_are_compared(tmp_path):
    before, more = (runs(blocks=blocks, interconnect="shared_memory") for blocks in (6, 8))
    imported = runs(blocks=2, origin="import")
    assert looks_after(tmp_path, *(pd.concat([part, imported]) for part in (before, more))) == 2


def test_a_report_of_runs_that_no_longer_count_is_no_look(tmp_path):
    """The case was edited after the reports of 6 and 12 blocks, and then the edit was undone."""
    file = tmp_path / "looks.json"
    before, after = ("2026-11-20T12:00", "2026-11-20T12:01"), ("2026-11-24T12:00",)
    for blocks in (6, 12):
        note_look(file, facts(blocks), tables(), runs(before, blocks))
    assert looks(file, runs(after)) == looks(file, runs(after, 9)) == {"harmonic": 1}
    for _ in range(2):
        note_look(file, replace(facts(8), made="2026-11-25"), tables(), runs(after, 8))
    assert blocks_in(file) == [6, 12, 8]
    assert looks(file, runs(after, 9)) == {"harmonic": 2}
    assert looks(file, runs(before, 13)) == {"harmonic": 3}
    assert looks(file, runs((*before, "2026-11-26T12:00"), 12)) == {"harmonic": 2}


def test_looks_of_earlier_versions_count_for_every_case(tmp_path):
    """They noted only the blocks of the study, and later also the first run."""
    file = tmp_path / "looks.json"
    file.write_text('{"looks": [{"blocks": 6, "made": "2026-11-23"}]}')
    assert looks(file, runs(blocks=8)) == {"harmonic": 2} and looks(file, runs()) == {"harmonic": 1}
    file.write_text('{"looks": [{"blocks": 6, "made": "2026-11-23", "first_run": "2026-11-22"}]}')
    assert looks(file, runs(["2026-11-22"], 8)) == {"harmonic": 2}
    assert looks(file, runs(["2026-11-24"], 8)) == {"harmonic": 1}


def test_an_edited_case_begins_with_its_first_look(tmp_path):
    file = tmp_path / "looks.json"
    kept, edited = runs(["2026-11-20"], cases=("elbow",)), runs(["2026-11-21"])
    for blocks in (6, 7):
        before = pd.concat([runs(["2026-11-20"], blocks, ("elbow",)), runs(["2026-11-21"], blocks)])
        note_look(file, facts(blocks), tables(), before)
    assert looks(file, pd.concat([kept, edited])) == {"elbow": 2, "harmonic": 2}
    edited = runs(["2026-11-25"], blocks=8)
    assert looks(file, pd.concat([kept, edited])) == {"elbow": 2, "harmonic": 1}


def test_imports_alone_and_studies_with_a_target_have_no_looks(tmp_path):
    file = tmp_path / "looks.json"
    target = AboutTarget(5.0, 20, 6, 1.0, 4.0, 0.5, True, "the target was reached")
    note_look(file, facts(8, until=target), tables(), runs())
    note_look(file, Facts(study=AboutStudy(blocks=6)), tables(), runs())
    assert not file.exists()


def test_a_study_with_a_target_is_unfinished_until_it_stops():
    target = AboutTarget(5.0, 20, 6, 1.0, 7.0, 0.5, False, None)
    assert facts(8, until=target).study.unfinished
    assert not facts(8, until=replace(target, reason="20 blocks are the most")).study.unfinished


@pytest.mark.parametrize(
    ("noted", "factors"), [({}, [1, 1]), ({"elbow": 1}, [1, 1]), ({"elbow": 2, "harmonic": 3}, [4, 8])]
)
def test_each_look_halves_the_level(noted, factors):
    settings = facts(24, looks=noted).all_settings()
    assert settings.look_factors(["elbow", "harmonic"]) == factors
    assert settings.alpha == 0.05 / max(factors) and not settings.unfinished


def test_facts_of_earlier_versions_do_not_distinguish_cases():
    assert AboutStudy.of({"looks": [6, 8]}).looks == {}


def test_mistakes_are_one_line(tmp_path):
    file = tmp_path / "looks.json"
    file.write_text('{"looks": [{"blocks": 0, "made": null}]}')
    assert refusal(InputError, looks, file, runs()) == f"{file}: looks[0].blocks: 0 is too small; at least 1"
    file.write_text("[")
    assert "is no JSON" in refusal(InputError, looks, file, runs())
