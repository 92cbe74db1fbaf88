"""Algorithmic efficiency, by hand."""

import pandas as pd
import pytest
from made_tables import make_tables

from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.parts_of_time.solver_work import algorithmic_efficiency, make_solver_efficiency
from analysis.topics.parts_of_time.tables import make_part_tables

COUNTS = pd.DataFrame([("duct", 4, 1)], columns=["case", "processes", "reference_processes"])


def efficiency(iterations, shares):
    """Algorithmic efficiency on 4 processes, from iterations on 1 and 4 and shares on 1."""
    solved = [
        ("duct", processes, field, number)
        for field, numbers in iterations.items()
        for processes, number in zip((1, 4), numbers, strict=True)
    ]
    timed = [("duct", 1, part, share) for part, share in shares.items()]
    efficiencies = algorithmic_efficiency(
        pd.DataFrame(solved, columns=["case", "processes", "field", "iterations"]),
        pd.DataFrame(timed, columns=["case", "processes", "part", "share"]),
        COUNTS,
    )
    return efficiencies["algorithmic_efficiency"].tolist()


def test_a_solver_that_takes_all_of_the_time_gives_the_ratio_of_iterations():
    assert efficiency({"p": (10, 16)}, {"p": 1.0}) == [pytest.approx(10 / 16)]


def test_fields_count_by_their_share_of_the_main_loop():
    # p: 0.5 of the time, half as many again; the three components of U: 0.2, 12 for 10; the rest stays.
    iterations = {"p": (10, 15), "Ux": (4, 5), "Uy": (4, 5), "Uz": (2, 2), "k": (3, 3)}
    shares = {"p": 0.5, "U": 0.2, "k": 0.1, "other": 0.2}
    assert efficiency(iterations, shares) == [pytest.approx(1 / (1 + 0.5 * 0.5 + 0.2 * 0.2))]


def test_fewer_iterations_are_more_than_1():
    assert efficiency({"p": (20, 10)}, {"p": 0.5, "other": 0.5}) == [pytest.approx(1 / 0.75)]


def test_an_equation_that_took_no_iteration_at_the_reference_has_no_part_in_it():
    assert efficiency({"p": (10, 20), "e": (0, 1)}, {"p": 0.5, "e": 0.1}) == [pytest.approx(1 / 1.5)]


def test_without_times_of_the_fields_there_is_no_efficiency():
    assert efficiency({"p": (10, 20)}, {}) == []


def runs(**changes):
    """Serial 8 s, half of them p; on 2 processes 5 s with 1.2 times the iterations."""
    rows = [
        {
            "interconnect": None,
            "processes": 1,
            "seconds": 8.0,
            "loop_seconds.p": 4.0,
            "solver_iterations.p": 10.0,
        },
        {"interconnect": "gigabit", "processes": 2, "seconds": 5.0, "loop_seconds.p": 3.0}
        | {"solver_iterations.p": 12.0}
        | changes,
    ]
    shared = {"case": "duct", "kind": "measured", "block": 1}
    return complete_runs(pd.DataFrame([shared | row for row in rows]))


def tables_of(solver_runs):
    part = make_part_tables(solver_runs)
    scaling = make_tables(solver_runs, Settings(draws=200))["scaling"]
    return make_solver_efficiency(part["parts"], part["solver_iterations"], scaling)


def test_the_efficiency_is_the_product_of_both():
    (line,) = tables_of(runs())["solver_efficiency"].to_dict("records")
    assert (line["processes"], line["reference_processes"], line["efficiency"]) == (2, 1, 0.8)
    assert line["algorithmic_efficiency"] == pytest.approx(1 / 1.1)
    assert line["implementation_efficiency"] == pytest.approx(0.88)
    assert line["algorithmic_loss_percent"] == pytest.approx(40)  # 0.1 of the 0.25 that two processes add


def test_without_lost_efficiency_there_is_no_share():
    (line,) = tables_of(runs(seconds=3.0))["solver_efficiency"].to_dict("records")
    assert pd.isna(line["algorithmic_loss_percent"])
    assert line["efficiency"] == pytest.approx(
        line["algorithmic_efficiency"] * line["implementation_efficiency"]
    )


def test_curves_that_recorded_no_iterations_are_left_out():
    assert tables_of(runs(kind="simulated", **{"solver_iterations.p": None}))["solver_efficiency"].empty
    assert tables_of(runs().drop(columns="solver_iterations.p")) == {}
