"""Processes or threads at equal cores: curves, gains and their test."""

import pytest
import small_runs
from made_tables import make_tables
from report_parts import blocks, cells, part, sentences_of

from analysis.curves.sites import with_distinct_interconnects
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError
from analysis.runs.settings import Settings

SETTINGS = Settings(draws=1_000, inside_nodes=("gigabit", "swift"))
PURE = [4.0, 4.2, 4.1, 4.0, 4.4, 4.3, 4.1]
"""Eight processes, by block; four of two threads take a fifth less, two of four threads a quarter more."""


def rows(processes, threads, seconds, interconnect="gigabit"):
    more = {"nodes": 1, "threads": threads}
    return small_runs.rows("duct", interconnect, {processes: 1.0}, seconds, **more)


SERIAL = rows(1, 1, [24.0] * 7, None)
ALL = [
    SERIAL,
    rows(8, 1, PURE),
    rows(4, 2, [0.8 * time for time in PURE]),
    rows(2, 4, [1.25 * time for time in PURE]),
    rows(4, 1, [2 * time for time in PURE]),
]


def tables_of(*parts):
    return make_tables(small_runs.unplaced(*parts), SETTINGS)


def test_hybrid_against_pure_by_hand():
    """Every block gives 1/0.8 - 1 = 25 % and 1/1.25 - 1 = -20 %; 7 pairs: p = 2/2^7, after Holm twice that."""
    hybrid = tables_of(*ALL)["hybrid"]
    assert (
        hybrid[["cores", "processes_of_baseline", "threads_of_baseline"]].values.tolist() == [[8, 8, 1]] * 2
    )
    assert hybrid[["processes", "threads"]].values.tolist() == [[4, 2], [2, 4]]
    assert hybrid["gain_percent"].tolist() == pytest.approx([25, -20])
    for end in ("gain_low", "gain_high"):
        assert hybrid[end].tolist() == pytest.approx([25, -20])
    assert hybrid["p_adjusted"].tolist() == pytest.approx([2 * 2 / 2**7] * 2)
    assert hybrid["paired"].all() and hybrid["verdict"].tolist() == ["faster", "slower"]
    assert list(hybrid)[-2:] == ["site", "threads"]


def test_each_number_of_threads_has_a_curve_and_all_refer_to_the_serial_run():
    """Four processes of two threads: 24 s / 3.28 s on 8 cores."""
    scaling = tables_of(*ALL)["scaling"]
    curves = {key: list(rows["cores"]) for key, rows in scaling.groupby("threads")}
    assert curves == {1: [1, 4, 8], 2: [8], 4: [8]}
    assert set(scaling["reference_seconds"]) == {24.0}
    row = scaling[scaling["threads"] == 2].iloc[0]
    assert row["speedup"] == pytest.approx(24 / 3.28) and row["efficiency"] == pytest.approx(24 / 3.28 / 8)


def test_interconnects_are_compared_at_equal_threads_only():
    other = [rows(8, 1, [2 * time for time in PURE], "swift"), rows(4, 2, PURE, "swift")]
    improvement = tables_of(*ALL, *other)["improvement"]
    gains = improvement.set_index("threads")["improvement_percent"]
    assert gains.to_dict() == pytest.approx({1: -50, 2: -20})


def test_other_nodes_and_blocks_are_not_paired():
    elsewhere = [row | {"nodes": 2} for row in rows(4, 2, PURE)]
    assert "hybrid" not in tables_of(SERIAL, rows(8, 1, PURE), elsewhere)
    apart = [row | {"block": row["block"] + 100} for row in rows(4, 2, PURE)]
    assert not tables_of(SERIAL, rows(8, 1, PURE), apart)["hybrid"]["paired"].any()


def test_threads_need_cores():
    runs = small_runs.unplaced(rows(4, 2, PURE))
    assert set(runs["cores"]) == {8} and set(runs["oversubscription"]) == {1}
    crowded = small_runs.unplaced([row | {"cores": 4, "oversubscription": None} for row in rows(4, 2, PURE)])
    assert set(crowded["oversubscription"]) == {2}
    with pytest.raises(TableError, match="by processes and cores it is 2"):
        small_runs.unplaced([row | {"cores": 4} for row in rows(4, 2, PURE)])


def test_a_report_names_numbers_of_threads():
    runs = small_runs.unplaced(*ALL)
    renamed, tables, facts = with_distinct_interconnects(runs, tables_of(*ALL), Facts.of({}))
    assert set(renamed["interconnect"].dropna()) == {"gigabit", "gigabit@2-threads", "gigabit@4-threads"}
    assert facts.interconnect("gigabit@2-threads").title == "gigabit (2 threads)"
    assert set(tables["scaling"]["interconnect"]) == set(renamed["interconnect"].dropna())
    assert set(tables["hybrid"]["interconnect"]) == {"gigabit"}


def test_the_report_compares_processes_and_threads_at_equal_cores():
    section = part(make_report(small_runs.unplaced(*ALL), tables_of(*ALL), Facts.of({}), []), "hybrid")
    assert "Gigabit, 8 cores: 4 × 2 is 25 % [25, 25] faster than 8 × 1." in sentences_of(section)
    assert "Gigabit, 8 cores: 2 × 4 is 20 % [20, 20] slower than 8 × 1." in sentences_of(section)
    (table,) = blocks(section, "table")
    assert [line[2:5] for line in cells(table)] == [
        ["4 × 2 against 8 × 1", "3.28", "4.10"],
        ["2 × 4 against 8 × 1", "5.12", "4.10"],
    ]
    pure = [SERIAL, rows(8, 1, PURE)]
    assert part(make_report(small_runs.unplaced(*pure), tables_of(*pure), Facts.of({}), []), "hybrid") is None
