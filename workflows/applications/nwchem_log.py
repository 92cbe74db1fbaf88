"""What the output of NWChem says: times, the energy, what was communicated, and whether it counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workflows.applications.tools import first_match, impossible, last_number, number
from workflows.domain import Answer, Line, Reading

_TASK_BEGIN = r"^ +NWChem (?!Input\b).*\bModule *$"
_TASK_END = r"^ Task +times +cpu: +([\d.]+)s +wall: +([\d.]+)s"
_IN_ORDER = r"^ Total times +cpu: +[\d.]+s +wall: +[\d.]+s"
_REUSED = r"(Loading old vectors from job|Restarting from old vector in)"
_CLOCK_SECONDS = 0.3
_CLOCK_SHARE = 0.05


def read_output(lines: Sequence[Line], processes: int, theory: str, answer: Answer) -> Reading:
    """Read the output of a run.

    The main loop is the task: from the heading of its module to its ``Task times`` line, as they arrived.
    NWChem prints that time too, in steps of 0.1 s: where the two differ by more than 0.3 s and 5 %, the
    stamps are wrong and the run does not count. The energy is read only where NWChem ended in order: a run
    that fails can print a plausible one before.

    Parameters
    ----------
    lines : sequence of Line
        Standard output.
    processes : int
        Ranks that were started.
    theory : str
        Whose ``Total <theory> energy`` is the answer.
    answer : Answer
        What the run must print.
    """
    begin = first_match(_TASK_BEGIN, lines)
    end = first_match(_TASK_END, lines)
    in_order = first_match(_IN_ORDER, lines) is not None
    seconds = lines[end].seconds - lines[begin].seconds if begin is not None and end is not None else None
    cpu, wall = _task_times(lines[end].text) if end is not None else (None, None)
    energy = last_number(rf"^ *Total {re.escape(theory)} energy *[:=] *(\S+)", lines) if in_order else None
    problem = (
        _error(lines)
        or _start(lines, processes)
        or (None if in_order and seconds is not None else "incomplete: no 'Total times' after the task")
        or _clock(seconds, wall)
        or impossible(energy, answer)
    )
    return Reading(
        seconds=seconds,
        startup_seconds=None if begin is None else lines[begin].seconds,
        output_seconds=None if end is None else lines[-1].seconds - lines[end].seconds,
        answer=energy,
        problem=problem,
        details={"cpu_seconds_of_rank_0": cpu, "printed_seconds": wall, **_communication(lines)},
    )


def read_version(lines: Sequence[Line]) -> str | None:
    """Version in the output's header, with that of the Global Arrays."""
    found = {}
    for line in lines:
        if match := re.match(r" +(nwchem branch|ga revision) += (\S+)", line.text):
            found[match[1]] = match[2]
    if "nwchem branch" not in found:
        return None
    return f"{found['nwchem branch']} (Global Arrays {found.get('ga revision', 'unknown')})"


def _error(lines: Sequence[Line]) -> str | None:
    """What NWChem says between two rules when it gives up, before the input line that it was at."""
    place = first_match(r"^ *current input line :", lines)
    if place is None:
        return None
    said = [text for line in lines[max(place - 4, 0) : place] if (text := line.text.strip(" -"))]
    return f"NWChem stopped: {re.sub(r' {2,}-?[0-9]+$', '', said[-1]) if said else 'no reason printed'}"


def _start(lines: Sequence[Line], processes: int) -> str | None:
    """Say whether the run started from anything but its input, or on another number of processes."""
    for name, wanted in (("status", "startup"), ("nproc", str(processes))):
        place = first_match(rf"^ +{name} += ", lines)
        value = None if place is None else lines[place].text.split("=")[1].strip()
        if value is not None and value != wanted:
            return f"not a fresh start: {name} is {value}, not {wanted}"
    reused = first_match(_REUSED, lines)
    return None if reused is None else f"not a fresh start: {' '.join(lines[reused].text.split())}"


def _clock(seconds: float | None, wall: float | None) -> str | None:
    """Compare the task's time by the stamps with the one that NWChem prints."""
    if seconds is None or wall is None:
        return None
    if abs(seconds - wall) > _CLOCK_SECONDS + _CLOCK_SHARE * wall:
        return f"time unsure: {seconds:.1f} s by the arrival of the lines, {wall:.1f} s by NWChem"
    return None


def _task_times(text: str) -> tuple[float | None, float | None]:
    match = re.match(_TASK_END, text)
    return (number(match[1]), number(match[2])) if match else (None, None)


def _communication(lines: Sequence[Line]) -> dict[str, dict[str, float | None]]:
    """Calls and bytes of rank 0 by operation, from the Global Arrays' statistics at the end."""
    heading = first_match(r"^ +create +destroy +get +put +acc", lines)
    if heading is None:
        return {}
    operations = lines[heading].text.split()
    rows = dict(line.text.split(":", 1) for line in lines[heading + 1 : heading + 5] if ":" in line.text)
    calls = map(number, rows.get("calls", "").split())
    # Creating and destroying an array has no column of bytes.
    sizes = map(number, rows.get("bytes total", "").split())
    return {
        "global_array_calls": dict(zip(operations, calls, strict=False)),
        "global_array_bytes": dict(zip(operations[2:], sizes, strict=False)),
    }
