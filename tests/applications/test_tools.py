import os
import sys
from pathlib import Path

import pytest
from refused import refusal

from workflows.applications import tools
from workflows.domain import Answer, InputError, Line
from workflows.launch.last_words import explaining_line

ENERGY = Answer("energy", "Ha", 1e-9, possible=(-100, 0))


def lines(*texts):
    return [Line(0.1 * place, text) for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        ("-1.0D-03", -1e-3),
        ("2d4", 2e4),
        *((text, None) for text in ("nan", "-inf", "1.2e", "")),
    ],
)
def test_numbers_as_programs_print_them(text, value):
    assert tools.number(text) == value


def test_the_last_matching_line_counts():
    number = tools.last_number(r"energy = (\S+)", lines("energy = -1", "energy = -2", "end"))
    assert number == -2
    assert tools.last_number(r"energy = (\S+)", lines("energy = -1", "energy = nan")) is None
    assert tools.last_number("energy", lines("end")) is None
    assert tools.last_number(r"\d+$", lines("step 12")) == 12


def test_an_answer_out_of_its_range_is_a_divergence():
    assert tools.impossible(-76, ENERGY) is None
    assert tools.impossible(-7e36, ENERGY) == "diverged: energy -7e+36 outside -100 to 0 Ha"
    assert tools.impossible(None, ENERGY) == "no energy printed, or no finite number"


def test_values_are_put_in_by_name():
    assert tools.substitute("$a-${b}c $$a", {"a": 1, "b": "x"}, "f") == "1-xc $a"
    with pytest.raises(InputError, match=r"^input.nw: \$c has no value; parameters: a, b$"):
        tools.substitute("$c", {"b": 1, "a": 1}, "input.nw")


def test_a_failed_program_is_reported_in_one_line_with_its_reason(tmp_path):
    def explain(output):
        return "no mesh" if "FATAL" in output else None

    name = Path(sys.executable).name
    script = "print('working'); print('FATAL: no mesh', file=sys.stderr); print('---'); sys.exit(3)"
    command = [sys.executable, "-c", f"import sys; {script}"]
    message = refusal(RuntimeError, tools.run_program, command, tmp_path, os.environ, explain)
    assert message == f"{name}: exit status 3: no mesh"
    assert "working" in (tmp_path / f"log.{name}").read_text()
    with pytest.raises(RuntimeError, match="no such program"):
        tools.run_program(["no-such-program"], tmp_path, os.environ, explaining_line)


def test_a_folder_with_something_in_it_is_not_fresh(tmp_path):
    tools.require_empty(tmp_path)
    (tmp_path / "case.movecs").touch()
    with pytest.raises(RuntimeError, match=r"not empty \(case.movecs\)"):
        tools.require_empty(tmp_path)
