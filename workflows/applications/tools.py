"""Functions for the applications: input files, programs that prepare a case, patterns in the output."""

from __future__ import annotations

import difflib
import fnmatch
import math
import os
import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from workflows.domain import Answer, Case, InputError, Line, Reading
from workflows.launch.last_words import explaining_line
from workflows.launch.programs import shared_libraries

PREPARE_LIMIT_SECONDS = 3600
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
"""Seconds of each unit in which a program may print its time."""
SHOWN = 2
"""Number of lines that `nearest_lines` quotes."""
WIDTH = 100
"""Number of letters after which `nearest_lines` cuts a line."""
CHOOSE = "state read.seconds to choose a time"
"""End of the reason of a log whose times cannot be used as they are."""
TIME_UNSURE = "time unsure"
"""Beginning of the reason of a run whose time stamps contradict the program's clock."""
TOO_SHORT = "main loop too short to be timed"
"""Beginning of the reason of a run whose time is 0."""
_SIGN = r"(?<![^\s=:(])[-+]"
_NUMBER_BEFORE = rf"(?:{_SIGN})?\d[\d.,:'_\u00a0\u202f]*$|{_SIGN}$"
_NUMBER_AFTER = r"(?:[.,:'_\u00a0\u202f]?\d)+(?:[eEdD][-+]?\d+)?|[eEdD][-+]?\d+"
"""What may belong to a number before and after a part of it: sign, digits with separators, exponent."""
_NUMBER = re.compile(
    r"[-+]?(?:\d+(?:[.,]\d*)?(?:[eEdD][-+]?\d+)?"
    r"|\d{1,3}(?:[.,'_\u00a0\u202f]\d{3})+(?:[.,]\d*)?"
    r"|\d+(?::\d\d)+(?:\.\d*)?)"
)
"""Number with a decimal point or comma, with separators of thousands, or as on a clock."""
_OPENMP = r"lib(gomp|iomp5|omp)\b"
_CLOCK_SECONDS = 0.3
_CLOCK_SHARE = 0.05
_WALL_SHARE = 0.01


def case_files(case: Case) -> dict[str, bytes]:
    """Return the input files of a case's folder, without case.yaml, hidden files and backups."""
    return {
        name: (case.folder / name).read_bytes()
        for _, names in input_folders(case.folder)
        for name in names
        if name != "case.yaml"
    }


def input_folders(folder: Path, left_out: Collection[str] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield `folder` and each folder below it with the files in it, as sorted relative paths.

    Links are followed. Hidden files, backups, and files that match a pattern of `left_out` are omitted.

    Raises
    ------
    InputError
        A link leads nowhere, or to a folder that holds the link.
    """
    for parent, folders, files in os.walk(folder, followlinks=True):
        above = Path(parent)
        below = {
            name: (above / name).relative_to(folder).as_posix()
            for name in sorted([*folders, *files])
            if not name.startswith(".") and not name.endswith("~")
        }
        kept = {
            name: path
            for name, path in below.items()
            if not any(fnmatch.fnmatchcase(path, pattern) for pattern in left_out)
        }
        for name in kept:
            if not (above / name).exists():
                raise InputError(f"{above / name}: the link leads nowhere")
            if name in folders and (above / name).resolve() in (above.resolve(), *above.resolve().parents):
                raise InputError(f"{above / name}: the link leads to a folder that holds it")
        yield above.relative_to(folder).as_posix(), [kept[name] for name in sorted(files) if name in kept]
        folders[:] = [name for name in folders if name in kept]


def named_files(source: Path, name: str) -> dict[str, Path]:
    """Return an input of a user under the name that runs read, and the files next to it that it names.

    Raises
    ------
    InputError
        The input is no text.
    """
    content = source.read_bytes()
    if b"\0" in content:
        raise InputError(f"{source}: is no text")
    words = set(content.decode(errors="replace").split())
    files = {word: source.parent / word for word in sorted(words) if not word.startswith(("/", ".."))}
    return {word: path for word, path in files.items() if path != source and path.is_file()} | {name: source}


def write_inputs(files: Mapping[str, bytes], folder: Path) -> None:
    """Make a folder, which must be new or empty, and write its files by relative path."""
    folder.mkdir(parents=True, exist_ok=True)
    require_empty(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def run_program(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], explain: Callable[[str], str | None]
) -> tuple[str, float]:
    """Run a program of the preparation in a folder, and keep its output there in ``log.<program>``.

    Parameters
    ----------
    environment : mapping
        The complete environment.
    explain : callable
        Function that finds the reason of a failure in the output.

    Returns
    -------
    str
        Standard output and error.
    float
        Wall time, seconds.

    Raises
    ------
    RuntimeError
        The program failed, is missing or exceeded `PREPARE_LIMIT_SECONDS`: one line with the reason.
    """
    program = Path(command[1] if command[0] == "sh" else command[0]).name
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PREPARE_LIMIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise RuntimeError(f"{program}: no such program") from None
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{program}: not finished after {PREPARE_LIMIT_SECONDS} s") from None
    output = done.stdout.decode(errors="replace")
    (folder / f"log.{program}").write_text(output)
    if done.returncode:
        reason = explain(output) or explaining_line(output) or "no output"
        raise RuntimeError(f"{program}: exit status {done.returncode}: {reason}")
    return output, time.monotonic() - began


def without_openmp(program: str) -> str | None:
    """Return a line if a program is not linked to a library of OpenMP; None if it is, or is no program."""
    linked = shared_libraries(program)
    return None if not linked or re.search(_OPENMP, linked) else f"{program} was built without OpenMP"


def link_contents(source: Path, folder: Path) -> None:
    """Fill `folder`, which is made if missing, with symbolic links to everything in `source`."""
    folder.mkdir(exist_ok=True)
    for path in source.iterdir():
        (folder / path.name).symlink_to(path.absolute())


def require_empty(folder: Path) -> None:
    """Refuse a folder with files of another run.

    Raises
    ------
    RuntimeError
        The folder is not empty.
    """
    if stale := next(folder.iterdir(), None):
        raise RuntimeError(f"{folder}: not empty ({stale.name}); every run needs a fresh folder")


def last_text(pattern: str, lines: Sequence[Line]) -> str | None:
    """Return the first group, or the whole match, of the last line that matches; None without a match."""
    compiled = re.compile(pattern)
    for line in reversed(lines):
        if match := compiled.search(line.text):
            return match.group(1 if compiled.groups else 0)
    return None


def last_number(pattern: str, lines: Sequence[Line]) -> float | None:
    """Return the number in the text of `last_text`; None if it is not a finite number."""
    text = last_text(pattern, lines)
    return None if text is None else number(text)


def cut_number(pattern: str, lines: Sequence[Line]) -> str | None:
    r"""Return the number of which the first group of `last_text` holds only a part; None if it holds it all.

    A pattern such as ``took ([\d.]+)`` takes 1 from ``took 1,234.5 s`` and 0.3 from ``took -0.3 s``. A
    separator that the pattern itself names ends a number: ``,([\d.]+),`` reads a column.
    """
    compiled = re.compile(pattern)
    match = next((found for line in reversed(lines) if (found := compiled.search(line.text))), None)
    if match is None or not compiled.groups or not re.fullmatch(r"[-+]?[\d.,]*\d[\d.]*", match[1] or ""):
        return None
    text, start, end = match.string, *match.span(1)
    before, after = re.search(_NUMBER_BEFORE, text[:start]), re.match(_NUMBER_AFTER, text[end:])
    head, tail = before[0] if before else "", after[0] if after else ""
    if head and match.start() < start and head[-1] in ",:" and head[-1] in pattern:
        head = ""
    if tail and match.end() > end and (tail[0] == "." or tail[0] in pattern):
        tail = ""
    whole = head + match[1] + tail
    return whole if (head or tail) and _NUMBER.fullmatch(whole) else None


def count(pattern: str, lines: Sequence[Line]) -> int | None:
    """Return the number in the text of `last_text` as a whole number; None without one."""
    value = last_number(pattern, lines)
    return None if value is None else int(value)


def several(what: str, places: Sequence[int]) -> str | None:
    """Return why a log with several times cannot be read: their number and lines; None for a single time."""
    if len(places) < 2:
        return None
    numbers = ", ".join(str(place + 1) for place in places[:5]) + (", …" if len(places) > 5 else "")
    return f"prints {len(places)} times {what} (lines {numbers}); {CHOOSE}"


def duration(printed: str, unit: str = "s") -> float | None:
    """Convert a printed time to seconds: a number, ``1h 2m``, ``1m 2.5s``, ``0:02:25`` or ``2:25.1``.

    `unit` is the unit of a bare number, a key of `UNITS`.
    """
    bare = number(printed)
    if bare is not None:
        return bare * UNITS[unit]
    clock = re.fullmatch(r"(?:(\d+):)?(\d+):(\d\d(?:\.\d*)?)", printed.strip())
    units = re.fullmatch(r"(?:(\d+)h)? *(?:(\d+)m)? *(?:([\d.]+)s?)?", printed.strip())
    match = clock or units
    if not match or not any(match.groups()):
        return None
    parts = [number(part or "0") for part in match.groups()]
    return None if None in parts else sum(a * b for a, b in zip(parts, (3600, 60, 1), strict=True) if a)


def nearest_lines(pattern: str, lines: Sequence[Line]) -> str:
    """Quote the lines that are most similar to a pattern; the last lines if no line shares a word with it."""
    texts = similar_texts(pattern, lines) or [text for line in lines if (text := line.text.strip())][-SHOWN:]
    return " and ".join(repr(text[:WIDTH]) for text in texts) or "nothing was printed"


def similar_texts(pattern: str, lines: Sequence[Line]) -> list[str]:
    """Return the lines that share most words with a pattern, at most `SHOWN`; empty if none shares a word.

    Lines are ordered by the number of the pattern's words that they contain, then by `difflib`'s ratio.
    """
    words = set(re.findall(r"[a-z]{2,}", re.sub(r"\\.", " ", pattern).lower()))
    texts = list(dict.fromkeys(text for line in lines if (text := line.text.strip())))

    def likeness(text: str) -> tuple[int, float]:
        shared = sum(word in text.lower() for word in words)
        return shared, difflib.SequenceMatcher(None, pattern, text[:WIDTH]).ratio()

    shared = [text for text in texts if any(word in text.lower() for word in words)]
    return sorted(shared, key=likeness, reverse=True)[:SHOWN]


def matches(pattern: str, lines: Sequence[Line]) -> list[int]:
    """Return the indices of all lines that match."""
    compiled = re.compile(pattern)
    return [index for index, line in enumerate(lines) if compiled.search(line.text)]


def first_match(pattern: str, lines: Sequence[Line]) -> int | None:
    """Return the index of the first line that matches; None without a match."""
    compiled = re.compile(pattern)
    return next((index for index, line in enumerate(lines) if compiled.search(line.text)), None)


def number(text: str) -> float | None:
    """Convert a printed number, Fortran's ``1.0D-3`` included; None unless it is finite."""
    try:
        value = float(_with_e(text))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _with_e(text: str) -> str:
    """Return Fortran's ``1.0D-3`` as ``1.0e-3``."""
    return re.sub("[dD]", "e", text)


def beyond_wall(reading: Reading, wall_seconds: float) -> str | None:
    """Check that the time a program printed is positive and fits into the wall time of its run.

    The printed time may exceed the wall time by 1 %, because the clocks differ, plus one unit of its last
    digit before or after the decimal point.

    Returns
    -------
    str or None
        One line if the printed time is too long, or not above 0.
    """
    if reading.printed is None or reading.seconds is None:
        return None
    printed = reading.printed.strip()
    printed += "" if number(printed) is None else f" {reading.unit}"
    if reading.seconds <= 0:
        return f"{TOO_SHORT}: the program printed {printed}"
    if (
        reading.seconds
        <= (1 + _WALL_SHARE) * wall_seconds + _resolution(reading.printed) * UNITS[reading.unit]
    ):
        return None
    question = "does it print seconds?" if reading.unit == "s" else f"does it print {reading.unit}?"
    return f"the program printed {printed}, but the whole run took {wall_seconds:.6g} s: {question}"


def _resolution(printed: str) -> float:
    """Return one unit of the last digit of a printed time, in its unit; for ``1h 2m`` a minute."""
    if number(printed) is not None:
        return 10.0 ** min(0, int(Decimal(_with_e(printed.strip())).as_tuple().exponent))
    if printed.strip()[-1] in "hm":
        return 3600.0 if printed.strip()[-1] == "h" else 60.0
    return 10.0 ** -len(printed.strip().rstrip("s").partition(".")[2])


def impossible(value: float | None, answer: Answer) -> str | None:
    """Return why a printed value cannot be the answer; None if it can."""
    if value is None:
        return f"no {answer.quantity} printed, or no finite number"
    low, high = answer.possible
    if not low <= value <= high:
        return f"diverged: {answer.quantity} {value:g} outside {low:g} to {high:g} {answer.unit}"
    return None


def unsure(seconds: float | None, least: float, most: float, program: str) -> str | None:
    """Check a time from time stamps of lines against the program's clock.

    Lines that were delayed on their way carry wrong time stamps. The time is unsure if it lies more than 0.3
    s plus 5 % outside the range that the program's clock allows.

    Parameters
    ----------
    seconds : float or None
        Time by the arrival of the lines.
    least, most : float
        Range of the time by the program's clock, seconds.
    program : str
        Name for the message.

    Returns
    -------
    str or None
        One line if the time is unsure.
    """
    if seconds is None:
        return None
    below, above = ((_CLOCK_SECONDS + _CLOCK_SHARE * bound) for bound in (least, most))
    if least - below <= seconds <= most + above:
        return None
    printed = f"{least:.1f}" if least == most else f"{least:.1f} to {most:.1f}"
    return f"{TIME_UNSURE}: {seconds:.1f} s by the arrival of the lines, {printed} s by {program}"


def substitute(text: str, values: Mapping[str, Any], where: str) -> str:
    """Replace ``$name`` and ``${name}`` by values, and ``$$`` by a dollar sign.

    Raises
    ------
    InputError
        A name has no value; the line lists the names that have one.
    """

    def value(match: re.Match[str]) -> str:
        name = match["name"] or match["braced"]
        if match["dollar"]:
            return "$"
        if name not in values:
            raise InputError(f"{where}: ${name} has no value; parameters: {', '.join(sorted(values))}")
        return str(values[name])

    return re.sub(r"\$(?:(?P<dollar>\$)|(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", value, text)
