"""What programs print as their time: units, commas, signs, clocks, and numbers of processes."""

from dataclasses import replace
from pathlib import Path

import pytest

from workflows.applications import application, tools
from workflows.domain import Line
from workflows.launch.execution import Execution
from workflows.measure.running import problem_of
from workflows.study.cases import digest, load_case

command = application("command")
CASES = Path(__file__).parents[1] / "cases"


def case(**read):
    harmonic = load_case("harmonic-smoke", CASES)
    return replace(harmonic, answer=None, settings=harmonic.settings | {"read": read})


def run(printed, wall_seconds=2.0, **read):
    """Reading, and why the run does not count, of a program that prints a line and ends well."""
    lines = [Line(0.1, printed), Line(0.2, "done")]
    ended = Execution(lines, "", False, 0, None, False, wall_seconds, 1.0, 0.0, "2026-01-01T00:00:00+00:00")
    reading = command.read(case(**read), 2, lines)
    return reading, problem_of(command, ended, reading, 60)


WORD = r"took (\S+)"
DIGITS = r"took ([\d.]+)"
ANY = r"took\D*([\d.]+)"


@pytest.mark.parametrize(
    ("unit", "printed", "seconds"),
    [
        ("ms", "300.0", 0.3),
        ("us", "3e5", 0.3),
        ("min", "0.02", 1.2),
        ("h", "0.0005", 1.8),
        ("s", "1m 0.5s", 60.5),
    ],
)
def test_a_time_has_the_unit_of_its_pattern(unit, printed, seconds):
    pattern = "took (.*)$" if " " in printed else WORD
    reading, problem = run(f"took {printed}", wall_seconds=61, seconds=pattern, unit=unit)
    assert reading.seconds == pytest.approx(seconds) and problem is None


@pytest.mark.parametrize(
    ("unit", "printed", "wall_seconds", "reason"),
    [
        (
            "ms",
            "300.0",
            0.29,
            "the program printed 300.0 ms, but the whole run took 0.29 s: does it print ms?",
        ),
        (
            "s",
            "2:25.1",
            60,
            "the program printed 2:25.1, but the whole run took 60 s: does it print seconds?",
        ),
        ("s", "1h", 60, None),  # a clock of whole hours
        ("s", "1m", 2, None),
        ("s", "3m", 100, "the program printed 3m, but the whole run took 100 s: does it print seconds?"),
    ],
)
def test_a_time_in_any_form_fits_into_the_wall_time(unit, printed, wall_seconds, reason):
    assert run(f"took {printed}", wall_seconds=wall_seconds, seconds=WORD, unit=unit)[1] == reason


@pytest.mark.parametrize("pattern", [WORD, ANY])
def test_a_negative_time_is_shown(pattern):
    _, problem = run("took -0.300 s", seconds=pattern)
    assert "-0.300" in problem


def test_a_time_of_zero_is_shown():
    assert run("took 0.000 s", seconds=WORD)[1] == (
        "main loop too short to be timed: the program printed 0.000 s"
    )


@pytest.mark.parametrize(
    ("pattern", "text", "whole"),
    [
        (DIGITS, "took 1,234.5 s", "1,234.5"),
        (DIGITS, "took 0,300 s", "0,300"),
        (DIGITS, "took 1.234,5 s", "1.234,5"),
        (DIGITS, "took 1'234.5 s", "1'234.5"),
        (DIGITS, "took 1\u202f234.5 s", "1\u202f234.5"),
        (DIGITS, "took 1.2e-03 s", "1.2e-03"),
        (r"took (\d+)", "took 0:02:25", "0:02:25"),
        (r".*(\d+\.\d+) s", "took 12.5 s", "12.5"),
        (r"took (\d+).*s", "took 1,234.5 s", "1,234.5"),
        (ANY, "took -0.3 s", "-0.3"),
    ],
)
def test_a_pattern_that_takes_a_part_of_a_number_makes_the_run_invalid(pattern, text, whole):
    _, problem = run(text, wall_seconds=2000, seconds=pattern)
    assert problem.startswith(f"{whole!r} is printed, of which the pattern read.seconds takes only ")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"total,([\d.]+),", "total,1.25,3"),
        (r",([\d.]+)$", "a,3,4.5"),
        (r"([\d.]+)$", "a,3,4.5"),
        (DIGITS, "at 12:30:11 took 3.5s."),
        (DIGITS, "took 3.5, 4.5"),
        (r"took (\d+)\.\d+ s", "took 3.5 s"),
        (r"t-([\d.]+)", "t-4.5"),
        (r"v(\d+\.\d+)", "v1.2.3"),
        (r"N=(\d+)", "N=8-1"),
    ],
)
def test_columns_units_and_versions_are_whole_numbers(pattern, text):
    assert tools.cut_number(pattern, [Line(0.1, text)]) is None


def test_the_reason_quotes_the_line_that_the_pattern_does_not_match():
    _, problem = run("main loop took 1,234.5 s", seconds=r"loop took ([\d.]+) s$")
    assert problem == (
        "incomplete: no time printed; nearest to 'loop took ([\\d.]+) s$': 'main loop took 1,234.5 s'"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("took 1 s on 2 ranks", None),
        ("took 1 s on 1 ranks", "the program ran on 1 processes, as it printed, not on 2"),
        ("took 1 s", r"no number of processes printed: no line like 'on (\d+) ranks'"),
    ],
)
def test_the_number_of_processes_that_a_program_prints_is_compared(text, reason):
    lines = [Line(0.1, text)]
    reading = command.read(case(seconds=WORD, processes=r"on (\d+) ranks"), 2, lines)
    assert reading.problem == reason


def test_another_unit_makes_earlier_records_outdated():
    assert digest(case(seconds=WORD, unit="s")) == digest(case(seconds=WORD))
    assert digest(case(seconds=WORD, unit="ms")) != digest(case(seconds=WORD))
