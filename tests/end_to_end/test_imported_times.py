"""Imported times whose order, turns or rounding forbid a verdict."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from report_parts import blocks as blocks_of
from report_parts import cells, part, sentences_of
from study_folders import StudyFolder

pytestmark = pytest.mark.slow

RUNS = 12
COLUMNS = [
    "case",
    "interconnect",
    "kind",
    "nodes",
    "processes",
    "seconds",
    "block",
    "repetition",
    "started",
    "valid",
]
RISING = 50 * 1.01 ** np.arange(RUNS)
"""Times that rise by 11.6 %."""
START = datetime(2026, 1, 1, tzinfo=UTC)


def rows(case, interconnect, seconds, processes=64, **more):
    """Rows of a table; each further column has one value a row, None where a cell is empty."""
    point = {"case": case, "interconnect": interconnect, "kind": "measured", "processes": processes}
    return pd.DataFrame(point | {"seconds": list(seconds)} | more)


def both(case, slow, swift, **more):
    """Rows of two interconnects, one after the other."""
    return pd.concat([rows(case, "ethernet", slow, **more), rows(case, "infiniband", swift, **more)])


def clock(first, step=1):
    """Start times of runs that begin every `step` minutes from minute `first` on."""
    return [(START + timedelta(minutes=first + step * run)).isoformat() for run in range(RUNS)]


def mixed(table, seed=1):
    """The same rows in random order."""
    return table.sample(frac=1, random_state=seed)


def noise(seed, runs=RUNS, percent=0.5):
    return 1 + percent / 100 * np.random.default_rng(seed).standard_normal(runs)


class Results:
    """Tables and report of a study that has only a name, imported files and perhaps `more` keys."""

    def __init__(self, folder, more="", **files):
        study_folder = StudyFolder(folder)
        for name, tables in files.items():
            whole = pd.concat(tables).reindex(columns=COLUMNS).dropna(axis="columns", how="all")
            whole.to_csv(folder / f"{name}.csv", index=False)
        imported = ", ".join(f"{name}.csv" for name in files)
        study = study_folder.write(f"name: theirs\nimport: [{imported}]\n{more}")
        study_folder.run_well(study, "--", "results/theirs/report.json")
        self.folder = study_folder.results("theirs")
        self.report = json.loads((self.folder / "report.json").read_text())

    def table(self, name, index="case"):
        return pd.read_csv(self.folder / f"tables/{name}.csv").set_index(index)

    def says(self, section):
        return sentences_of(part(self.report, section))

    def outcomes(self):
        """Last cell of each line of the report's table of improvements, by case."""
        tables = [table for section in self.report["sections"] for table in blocks_of(section, "table")]
        (table,) = [table for table in tables if table["caption"].startswith("Improvement over the baseline")]
        return {line[0]: line[-1] for line in cells(table)}


# --- in which order the runs of a point were made ---


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    """Rising times, whose order the file, the start times or the repetitions tell, or nothing."""
    sessions = [*range(1, RUNS // 2 + 1)] * 2
    started = [*clock(0)[:-1], None]
    return Results(
        tmp_path_factory.mktemp("order"),
        first=[
            both("of_rows", RISING, RISING),
            both("of_one_repetition", RISING, RISING, repetition=1),
            mixed(both("of_clock", RISING, RISING, started=clock(0))),
            mixed(both("of_repetitions", RISING, RISING, repetition=range(1, RUNS + 1))),
            both("of_sessions", RISING, RISING, repetition=sessions),
            both("of_some_clocks", RISING, RISING, started=started),
            both("of_files", RISING[:6], RISING[:6]),
        ],
        second=[both("of_files", RISING[6:], RISING[6:])],
    )


def test_a_drift_is_found_in_the_order_that_is_known(order):
    drift = order.table("drift")
    assert set(drift.index) == {"of_rows", "of_one_repetition", "of_clock", "of_repetitions"}
    assert drift["drift_percent"].round(1).eq(11.6).all() and drift["distinguishable"].all()
    assert "8 of 8 points drift from the first run to the last" in order.says("quality")


def test_an_unknown_order_is_stated(order):
    assert "The order of the runs is unknown at 6 points" in order.says("quality")
    assert (
        "At 4 points, Nodeworth takes the order of the rows in the file as the order of the runs"
        in order.says("quality")
    )


def wandering(seed, runs=30, correlation=0.8):
    """Times that depend on the ones before."""
    noise = np.random.default_rng(seed).standard_normal(runs)
    for run in range(1, runs):
        noise[run] = correlation * noise[run - 1] + np.sqrt(1 - correlation**2) * noise[run]
    return 50 * np.exp(0.02 * noise)


def test_dependent_runs_without_blocks_are_not_called_different(tmp_path):
    """Equal interconnects; runs in random order would be told apart with p = 0.0001.

    Twelve rising times never show a direction, however large the difference.
    """
    many, few = both("many", wandering(WANDERS), wandering(WANDERS + 1)), both("few", RISING, RISING / 2)
    results = Results(tmp_path, wandering=[many, few])
    line, of_few = (results.table("improvement").loc[case] for case in ("many", "few"))
    assert of_few["verdict"] == "successive runs may depend on each other" and of_few["p_value"] == 1
    assert "a verdict needs 30 runs per point or a column block" in results.says("words")
    assert line["improvement_low"] < 0 < line["improvement_high"]
    assert line["verdict"] == "not distinguishable"
    assert line["effective_blocks"] < 15 and line["lag_one_correlation"] > 0.5
    assert "widens the intervals of 2 unpaired comparisons" in results.says("quality")


WANDERS = 2


# --- whether the interconnects took turns ---


@pytest.fixture(scope="module")
def turns(tmp_path_factory):
    """Runs of one interconnect take 5 % longer; the other came before, after, or in alternation."""
    slow, swift = 21 * noise(1), 20 * noise(2)
    numbers = np.arange(1, RUNS + 1)

    def timed(case, *starts, **more):
        times = zip(("ethernet", "infiniband"), (slow, swift), starts, strict=True)
        return pd.concat([rows(case, name, seconds, started=start, **more) for name, seconds, start in times])

    numbered = [rows("numbered", "ethernet", slow, block=numbers)]
    numbered += [rows("numbered", "infiniband", swift, block=numbers + RUNS)]
    by_turns = both("by_turns", slow, swift).sort_index(kind="stable")
    return Results(
        tmp_path_factory.mktemp("turns"),
        first=[
            timed("after_paired", clock(0), clock(100), block=numbers),
            timed("before_paired", clock(100), clock(0), block=numbers),
            timed("after", clock(0), clock(100)),
            timed("turns_paired", clock(0, 2), clock(1, 2), block=numbers),
            timed("turns", clock(0, 2), clock(1, 2)),
            both("blocks", slow, swift, block=numbers),
            *numbered,
            both("sorted", slow, swift),
            both("repeated", slow, swift, repetition=numbers),
            by_turns,
            rows("files", "ethernet", slow, block=numbers),
        ],
        second=[rows("files", "infiniband", swift, block=numbers)],
    )


SEPARATE = ["after_paired", "before_paired", "after", "numbered"]
INSEPARABLE = "time and interconnect cannot be separated"
ONE_FIRST = "all runs of one came before all runs of the other"


def test_runs_one_after_the_other_have_no_verdict(turns):
    lines = turns.table("improvement").loc[SEPARATE]
    assert lines["verdict"].eq(INSEPARABLE).all()
    tests = ["p_value", "p_adjusted", "distinguishable", "improvement_low", "improvement_high", "coverage"]
    assert lines[[*tests, "average_low", "average_high"]].isna().all(axis=None)
    assert lines["improvement_percent"].gt(4).all()
    outcomes = turns.outcomes()
    assert all(outcomes[case.replace("_", " ")] == INSEPARABLE for case in SEPARATE)
    equivalent = turns.table("node_equivalent").loc[SEPARATE]
    assert equivalent[["equivalent_low", "equivalent_high"]].isna().all(axis=None)
    assert turns.table("fastest").loc[SEPARATE, "may_be_fastest"].isna().all()


def test_page_one_states_the_reason(turns):
    assert ONE_FIRST in turns.says("words")


def test_runs_by_turns_have_their_verdict(turns):
    verdicts = turns.table("improvement").drop(index=SEPARATE)
    assert set(verdicts.index) == {
        "turns_paired",
        "turns",
        "blocks",
        "sorted",
        "repeated",
        "by_turns",
        "files",
    }
    assert verdicts["verdict"].eq("faster").all()


def test_unknown_turns_are_stated(turns):
    notes = turns.table("improvement")["note"]
    unknown = notes[notes.str.contains("took turns", na=False)]
    assert set(unknown.index) == {"sorted", "repeated", "files"}
    stated = "Nodeworth does not know whether the runs of files, repeated and sorted alternated between the interconnects."
    assert stated in turns.says("answer")


MONEY = """
economics:
  node: {price: 2500, currency: USD, year: 2004}
  interconnects:
    ethernet: {book: ames_2004, item: gigabit_ethernet}
    infiniband: {book: ames_2004, item: infiniband_4x}
  mix: {weights: {cluster: 1}, budgets: [50000]}
"""


@pytest.mark.parametrize("after", [True, False])
def test_no_purchase_is_certain_if_time_explains_the_difference(tmp_path, after):
    points = [("ethernet", 8, 50), ("ethernet", 16, 30), ("infiniband", 8, 40), ("infiniband", 16, 24)]
    runs = [
        rows(
            "cluster", name, seconds * noise(place), count, nodes=count,
            started=clock(20 * place) if after else clock(place, 4), block=range(1, RUNS + 1),
        )
        for place, (name, count, seconds) in enumerate(points)
    ]  # fmt: skip
    results = Results(tmp_path, MONEY, runs=runs)
    pays = results.table("break_even")["verdict"].str.removeprefix("would ").tolist()
    assert results.table("break_even")["saving_low"].isna().all() == after
    assert results.table("purchase", "interconnect")["may_be_best"].isna().all() == after
    assert ("The differences are not tested." in results.says("words")) == after
    assert "pay" in pays[-1] and (ONE_FIRST in results.says("words")) == after


# --- to what step times are rounded ---


@pytest.fixture(scope="module")
def rounded(tmp_path_factory):
    """Times in whole seconds, in tenths, and unrounded."""
    base = [("ethernet", 128, 34.0), ("infiniband", 128, 34.0)]

    def case(name, slow, swift, runs=6):
        return [
            rows(name, interconnect, [seconds] * runs, count)
            for interconnect, count, seconds in [*base, ("ethernet", 256, slow), ("infiniband", 256, swift)]
        ]

    dithered = [
        rows("dithered", name, np.round(seconds * noise(seed, 40, 5)), 256)
        for seed, (name, seconds) in enumerate([("ethernet", 329.0), ("infiniband", 300.0)])
    ]
    full = [
        rows("full", name, seconds * noise(seed, 6, 0.01), count)
        for seed, (name, count, seconds) in enumerate(
            [*base, ("ethernet", 256, 29.0), ("infiniband", 256, 28.0)]
        )
    ]
    return Results(
        tmp_path_factory.mktemp("rounded"),
        times=[
            *case("one_step", 29.0, 28.0),
            *case("three_steps", 30.0, 27.0),
            *case("once", 29.0, 28.0, runs=1),
            rows("once", "infiniband", [0.123456789012], 256, valid=False),
            *case("flat", 28.0, 28.0),
            rows("flat", "ethernet", [29.0] * 6, 512),
            rows("flat", "infiniband", [30.0] * 6, 512),
            *dithered,
        ],
        tenths=case("tenths", 29.1, 29.0),
        full=[*full, *case("among_full", 29.0, 28.0)],
    )


def test_a_difference_of_one_step_has_no_verdict(rounded):
    lines = rounded.table("improvement").loc[["one_step", "tenths", "once", "among_full"]]
    assert lines["verdict"].eq("faster or slower within the rounding").all()
    one_step, tenths, single, _ = (line for _, line in lines.iterrows())
    assert one_step[["improvement_low", "improvement_high"]].tolist() == pytest.approx([0, 100 * 2 / 27.5])
    assert tenths[["improvement_low", "improvement_high"]].tolist() == pytest.approx([0, 100 * 0.2 / 28.95])
    assert pd.isna(single["p_value"]) and one_step["p_value"] == 1 and not one_step["distinguishable"]


def test_no_interval_is_narrower_than_the_rounding(rounded):
    times = rounded.table("scaling", ["case", "interconnect", "processes"]).loc["one_step", "infiniband"]
    assert times.loc[256, ["seconds_low", "seconds_high"]].tolist() == [27.5, 28.5]
    assert times.loc[256, ["speedup_low", "speedup_high"]].tolist() == pytest.approx(
        [33.5 / 28.5, 34.5 / 27.5]
    )
    equivalent = rounded.table("node_equivalent", ["case", "baseline_processes"]).loc["one_step", 256]
    # As fast as 28.5 s: half a second above 28 s where the baseline takes half a second below 29 s.
    assert equivalent["equivalent_low"] < 215 and equivalent["equivalent_high"] == pytest.approx(256)
    apart = rounded.table("improvement").loc["three_steps"]
    assert apart["verdict"] == "faster"
    assert apart[["improvement_low", "improvement_high"]].tolist() == pytest.approx(
        [100 * (29.5 / 27.5 - 1), 100 * (30.5 / 26.5 - 1)]
    )


def test_which_may_be_the_best_knows_of_the_rounding(rounded):
    fastest = rounded.table("fastest", ["case", "processes"])
    assert fastest.loc[[("one_step", 256), ("tenths", 256)], "may_be_fastest"].all()
    assert fastest.loc[("three_steps", 256), "may_be_fastest"].tolist() == [True, False]
    peaks = rounded.table("peaks", ["case", "interconnect"]).loc["flat"]
    assert peaks["peak_set"].tolist() == ["256 512", "256"] and not peaks.loc["ethernet", "reached"]


def test_unrounded_times_are_as_before(rounded):
    full = rounded.table("improvement").loc["full"]
    assert full["verdict"] == "faster" and full["improvement_high"] - full["improvement_low"] < 0.2
    assert rounded.table("improvement").loc["dithered", "verdict"] == "faster"
    runs = pd.read_csv(rounded.folder / "runs.csv").set_index("case")["resolution_seconds"]
    assert runs.groupby("case").agg(["min", "max"]).loc["full"].isna().all()
    assert set(runs.loc[["one_step", "among_full"]]) == {1.0} and set(runs.loc["tenths"]) == {0.1}


def test_the_report_states_the_rounding(rounded):
    assert "the difference lies within the rounding of the times" in rounded.says("words")
    assert "are rounded to steps of up to 1 s" in rounded.says("quality")


def test_minutes_of_another_tool_are_rounded_to_minutes(tmp_path):
    table = "case;interconnect;processes;minutes\n" + "".join(
        f"wing;{name};64;{minutes}\n"
        for name, minutes in {"ethernet": 4, "infiniband": 3}.items()
        for _ in range(6)
    )
    (tmp_path / "jube.csv").write_text(table.replace(";", ","))
    study_folder = StudyFolder(tmp_path)
    study = study_folder.write(
        "name: theirs\nimport:\n  - {file: jube.csv, mapping: {seconds: {from: minutes, unit: min}}}\n"
    )
    study_folder.run_well(study, "--", "results/theirs/tables")
    line = pd.read_csv(study_folder.results("theirs") / "tables/improvement.csv").iloc[0]
    assert line["verdict"] == "faster or slower within the rounding"
    assert line[["improvement_low", "improvement_high"]].tolist() == pytest.approx([0, 80])
