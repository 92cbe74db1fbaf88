"""Section and figures of the parts of run time."""

import pandas as pd
import pytest
from drawn import drawn
from made_tables import make_tables
from report_parts import blocks, cells, part, plain, sentences_of

from analysis.report import make_report
from analysis.runs.facts import AboutStudy, Facts
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.parts_of_time.figures import MOST, REMAINING, parts_figures
from analysis.topics.parts_of_time.solver_work import make_solver_efficiency
from analysis.topics.parts_of_time.tables import make_part_tables

LOOP = {1: {"U": 4.0, "p": 3.0, "other": 1.0}, 2: {"U": 2.0, "p": 2.6, "other": 0.4}}
ITERATIONS = {1: {"U": 3.0, "p": 10.0}, 2: {"U": 3.0, "p": 13.0}}


def study(loop=LOOP, iterations=ITERATIONS, interconnects=("gigabit", "infiniband"), factors=(1.0, 1.0)):
    """Runs and tables of a case on 1 and 2 processes; `factors` of the parallel times, block by block."""
    rows = []
    for name, processes in [(None, 1), *((name, 2) for name in interconnects)]:
        slower = 2.0 if name == "gigabit" else 1.0
        seconds_of_parts = {part: slower * seconds for part, seconds in loop.get(processes, {}).items()}
        seconds = sum(seconds_of_parts.values()) or 5.0
        for block, factor in enumerate(factors, 1):
            row = {"case": "duct", "interconnect": name, "processes": processes, "block": block}
            taken = seconds * factor if processes > 1 else seconds
            row |= {"kind": "measured", "seconds": taken, "startup_seconds": 0.5, "output_seconds": 0.25}
            row |= {"wall_seconds": seconds + 1, "prepare_seconds.mesh": 2.0}
            row |= {f"loop_seconds.{part}": value for part, value in seconds_of_parts.items()}
            row |= {f"solver_iterations.{field}": value for field, value in iterations[processes].items()}
            rows.append(row)
    runs = complete_runs(pd.DataFrame(rows))
    tables = make_tables(runs, Settings(draws=200))
    tables |= {name: table for name, table in make_part_tables(runs).items() if len(table)}
    return runs, tables, Facts(study=AboutStudy(name="own", blocks=2, seed=1))


@pytest.fixture(scope="module")
def section():
    runs, tables, facts = study()
    entries = [drawing.entry() for drawing in drawn((runs, tables, facts), parts_figures, "parts")]
    return part(make_report(runs, tables, facts, entries), "parts")


def test_sentences(section):
    sentences = sentences_of(section)
    # U 4 of 8 s serially; p 3 of 8 s, and 2.6 of 5 s, the same over both interconnects.
    assert "on 1 process, the largest parts of the main loop are “U” (50 %) and “p” (38 %)." in sentences
    assert (
        "The share of part “p” grows most: from 38 % on 1 process to 52 % on 2 processes over " in sentences
    )
    assert (
        "the linear solver needs more iterations on 2 processes than on 1 process. The factor is 1.30 for p."
        in sentences
    )
    assert "exclude this preparation, which takes at most 2.00 s for the mesh" in sentences
    # Outside of the main loop is 1 s of 9, 6 and 11 s.
    assert "This work takes 9.1 % to 17 % of the whole run." in sentences


def test_tables(section):
    parts, solver = blocks(section, "table")
    rows = cells(parts)
    assert [row[1] for row in rows] == ["1", "2", "2"]
    assert rows[0][2:] == ["2.000", "0.500", "8.000", "0.250", "0.250", "U 50 %, p 38 %, other 12 %"]
    assert cells(solver) == [["U", "3.00", "3.00"], ["p", "10.0", "13.0"]]


def with_efficiency(**changed):
    """Section of a study whose tables have the efficiency's two factors."""
    runs, tables, facts = study(**changed)
    tables |= make_solver_efficiency(tables["parts"], tables["solver_iterations"], tables["scaling"])
    return part(make_report(runs, tables, facts, []), "parts")


def test_lost_efficiency_is_split_into_iterations_and_time():
    section = with_efficiency()
    # Over gigabit 10 s on 2 processes instead of 4; 0.3 more iterations of 3 s of 8 s serially.
    assert (
        "over Gigabit, the efficiency is 40 %. The linear solver needs more iterations than in the reference "
        "run. If these additional iterations were the only loss, the efficiency would be 90 %"
        in sentences_of(section)
    )
    assert "90 %. The lost time is" in sentences_of(section)
    (table,) = [block for block in blocks(section, "table") if "Algorithmic" in str(block)]
    assert cells(table)[0] == ["Gigabit", "2", "40 %", "90 %", "45 %", "7.5 %"]


def test_the_least_efficiency_has_its_interval():
    """From 8 s serially to 10 s x 0.8 and x 1.25 on two processes: 50 % and 32 %."""
    section = with_efficiency(factors=(0.8, 0.8, 0.8, 1, 1, 1.25, 1.25, 1.25))
    assert "over Gigabit, the efficiency is 40 % [32, 50]. The linear solver needs more" in sentences_of(
        section
    )


@pytest.mark.parametrize(
    ("on_two", "sentence"),
    [
        (10.0, "The number of iterations of the linear solver changes the efficiency by less than 5 %"),
        (5.0, "With as many iterations as in the reference run, the efficiency would be 32 %"),
    ],
)
def test_constant_iterations_are_reported(on_two, sentence):
    iterations = {1: {"p": 10.0}, 2: {"p": on_two}}
    assert sentence in sentences_of(with_efficiency(iterations=iterations))


def test_equal_numbers_of_iterations_are_stated():
    runs, tables, facts = study(iterations={1: {"p": 10.0}, 2: {"p": 10.2}})
    sentences = sentences_of(part(make_report(runs, tables, facts, []), "parts"))
    assert (
        "the number of iterations of the linear solver changes by less than 5 % from 1 process to 2 processes."
        in sentences
    )


def bars(drawing):
    """Widths of the bars of each row, from the bottom of the axes' order."""
    (axes,) = drawing.figure.axes
    rows = {}
    for bar in axes.patches:
        rows.setdefault(round(bar.get_y() + bar.get_height() / 2), []).append(bar.get_width())
    return rows


def test_bars_add_up_to_the_main_loop():
    (drawing,) = drawn(study(), parts_figures, "parts")
    loops = {row: sum(widths) for row, widths in bars(drawing).items()}
    assert loops == pytest.approx({0: 8.0, 1: 10.0, 2: 5.0})
    assert any("p: 2.60 s, 52 % of the main loop" in plain(mark.text) for mark in drawing.marks.values())


def test_many_small_parts_share_a_colour():
    loop = {count: {f"part{place}": 10.0 / place for place in range(1, 12)} for count in (1, 2)}
    (drawing,) = drawn(study(loop), parts_figures, "parts")
    (legend,) = drawing.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == MOST and names[-1] == REMAINING
    total = sum(loop[1].values())
    assert {row: sum(widths) for row, widths in bars(drawing).items()}[0] == pytest.approx(total)


def test_communication_has_a_table_at_smallest_and_largest_count():
    runs, _, facts = study()
    moved = runs["processes"].map({1: 0.0, 2: 3e6})
    operations = {"calls.get": 4000.0, "bytes.get": 5e6, "remote_bytes.get": moved, "calls.create": 7.0}
    runs = runs.assign(**{f"global_array_{name}": value for name, value in operations.items()})
    tables = make_tables(runs, Settings(draws=200)) | make_part_tables(runs)
    section = part(make_report(runs, tables, facts, []), "parts")
    (table,) = [block for block in blocks(section, "table") if "Global Arrays" in block["caption"]]
    assert cells(table) == [
        ["create", "1", "7", "–", "–"],
        ["create", "2", "7", "–", "–"],
        ["get", "1", "4000", "5.00", "0"],
        ["get", "2", "4000", "5.00", "3.00"],
    ]
