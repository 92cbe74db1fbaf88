"""Study, cluster, case, interconnect, price and imported files written by an attacker.

    .venv/bin/python tests/benchmarks/hostile_files.py [FILES [SEED]]
    .venv/bin/python tests/benchmarks/hostile_files.py mixed [FILES [SEED]]

Takes files that are shipped, puts something hostile into each at random (what a shell would run, paths that lead out,
huge numbers, other types, broken text), and reads them as a study does. A file is refused in one line or taken. Of
what is taken, everything goes to a shell that Snakemake would give to one. Prints the counts and what is wrong: a
traceback, or a shell that ran a word of a file.

With `mixed`, it damages outputs that are imported as copying and concatenating do: lines dropped, doubled and
swapped, columns cut, lines of other formats mixed in. Wrong is a traceback, a warning, and a value that neither
undamaged file holds.
"""

from __future__ import annotations

import functools
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import yaml
from snakemake.deployment.env_modules import EnvModules
from snakemake.deployment.singularity import shellcmd as in_image
from snakemake_executor_plugin_slurm.submit_string import get_submit_command

from analysis.importers import make_mapping, read_foreign
from analysis.importers.marks import program_of
from analysis.runs.errors import TableError
from analysis.topics.prices.books import read_book
from workflows.domain import InputError
from workflows.jobs.cluster import Cluster, read_cluster
from workflows.paths import CASES, INTERCONNECTS, ROOT
from workflows.plan.jobs import JobRequest, site_resources
from workflows.study.asked import read_asked
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

CANARY = "run_by_a_shell"
CLEAR_SCREEN = "\x1b[2J"
FOREIGN = ROOT / "tests/importers/files"
HOSTILE = (
    *(f"{sign}touch {CANARY}" for sign in ("; ", "| ", "&& ", "\n", "x; ")),
    f"x; touch {CANARY} #",
    *(f"x{opened}touch {CANARY}{closed}" for opened, closed in (("$(", ")"), ("`", "`"))),
    *(f"{quote}$(touch {CANARY}){quote}" for quote in ("'", '"', "it's ")),
    *(
        "../../etc",
        "/etc/passwd",
        "-rf",
        "--help",
        "~",
        "$HOME",
        "*",
        "\0",
        CLEAR_SCREEN,
        "é" * 300,
        "x" * 5000,
        "",
    ),
    *(None, True, -1, 0, 1.5, 10**30, [], {}, [[]], {"x": "y"}, ["x", 1]),
)
SITE = {
    "partition": "compute", "partitions": {"ucx_tcp": "eth"}, "account": "me", "constraint": "icelake", "qos": "long",
    "constraints": {"ucx_tcp": "eth"}, "reservation": "night",
    "extra": "--switches=1", "modules": ["openmpi/4.1"], "container": "image.sif", "scratch": "scratch",
    "launcher": "srun", "mpi_plugin": "pmix", "minutes": 60, "nodes": 4, "cores_per_node": 2,
    "memory_per_node_MB": 4000, "limits": {"cores": 4}, "blocks_per_job": 1, "exclusive": True,
}  # fmt: skip


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Ways to everything in sections and lists, keys among them."""
    paths = [at] if at else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return paths + [way for key, part in inner for way in places(part, (*at, key))]


def spoiled(value: Any, chance: random.Random) -> Any:
    """Put something hostile in a place, or in the place of its key."""
    value = yaml.safe_load(yaml.safe_dump(value))
    *way, last = chance.choice(places(value))
    inside = value
    for key in way:
        inside = inside[key]
    bad = chance.choice(HOSTILE)
    if isinstance(inside, dict) and isinstance(bad, str) and chance.random() < 0.2:
        inside[bad] = inside.pop(last)
    else:
        inside[last] = bad
    return value


def damaged(text: str, chance: random.Random) -> str:
    """Put something hostile anywhere into a text."""
    place = chance.randrange(len(text))
    return f"{text[:place]}{chance.choice(HOSTILE)}{text[place + chance.randrange(9) :]}"


def study(file: Path) -> None:
    read_asked(file)


def case(file: Path) -> None:
    load_case(file.parent.name, file.parents[2])


def interconnect(file: Path) -> None:
    load_interconnect(file.stem, file.parent)


def site(file: Path) -> None:
    """Read a site file, and let a shell read what Snakemake makes of it."""
    cluster = read_cluster(file)
    for line in shell_lines(cluster):
        subprocess.run(["sh", "-c", line], cwd=file.parent, capture_output=True, timeout=20)


def shell_lines(cluster: Cluster) -> list[str]:
    """Command lines that Snakemake gives to a shell, with programs that do nothing."""

    class Resources(dict):
        __getattr__ = dict.__getitem__

    job, where = JobRequest(1, 2, 100, 5), cluster.selection("ucx_tcp")
    resources = Resources(site_resources(cluster) | cluster.scheduler.resources(cluster, job, where))
    settings = dict.fromkeys(
        ("run_uuid", "slurm_logfile", "comment_str", "account", "partition", "workdir"), ""
    )
    lines = [EnvModules(*cluster.modules).shellcmd("true")] if cluster.modules else []
    if cluster.container:
        lines.append(in_image(cluster.container, "true", quiet=True))
    if cluster.scheduler.name == "slurm":
        lines.append(get_submit_command(SimpleNamespace(threads=1, resources=resources), settings))
    nothing = "".join(f"{name}() {{ :; }}\n" for name in ("sbatch", "module", "singularity", "apptainer"))
    return [nothing + line for line in lines]


def imported(file: Path) -> None:
    """Read results of another tool; what is left out of them is told in lines."""
    mapping = make_mapping({"interconnect": {"value": "ib"}})
    unread_lines = "".join(f"{line}\n" for line in read_foreign(file, mapping=mapping).unread)
    if unread_lines.count("\n") != len(unread_lines.splitlines()) or CLEAR_SCREEN in unread_lines:
        raise TableError(f"of what is left out:\n{unread_lines}")


KINDS: dict[str, tuple[Callable[[Path], object], list[Path]]] = {
    "study": (study, sorted((ROOT / "config/studies").glob("*.yaml"))),
    "cluster": (site, []),
    "case": (case, sorted(CASES.glob("*/*/case.yaml"))),
    "interconnect": (interconnect, sorted(INTERCONNECTS.glob("*.yaml"))),
    "prices": (read_book, sorted((ROOT / "config/prices").glob("*.csv"))),
    "import": (imported, sorted(p for p in FOREIGN.rglob("*.*") if p.suffix != ".md")),
}


def written(kind: str, folder: Path, chance: random.Random) -> Path:
    """Write a hostile file where its reader looks for it."""
    files = KINDS[kind][1]
    origin = chance.choice(files) if files else None
    text = origin.read_text() if origin else yaml.safe_dump(SITE)
    if kind in ("prices", "import") or chance.random() < 0.2:
        text = damaged(text, chance)
    else:
        text = yaml.safe_dump(spoiled(yaml.safe_load(text), chance), allow_unicode=True)
    if kind == "case":
        folder = folder / origin.parents[1].name / origin.parent.name
        shutil.copytree(origin.parent, folder)
    file = folder / (origin.name if origin else "site.yaml")
    file.write_text(text)
    return file


def attack(number: int, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Write and read that many files.

    Returns
    -------
    Counter
        Files by kind and by ``taken`` or ``refused``.
    list of str
        What is wrong.
    """
    chance, counts, wrong = random.Random(seed), Counter(), []
    for index in range(number):
        kind = list(KINDS)[index % len(KINDS)]
        with tempfile.TemporaryDirectory() as folder:
            file = written(kind, Path(folder), chance)
            try:
                KINDS[kind][0](file)
                counts[kind, "taken"] += 1
            except (InputError, TableError) as error:
                counts[kind, "refused"] += 1
                if "\n" in str(error):
                    wrong.append(
                        f"{kind} file {index} of seed {seed}: more than a line: {str(error)[:200]!r}"
                    )
            except Exception as error:
                wrong.append(
                    f"{kind} file {index} of seed {seed}: {type(error).__name__}: {str(error)[:200]!r}"
                )
            if [*Path(folder).rglob(CANARY)] or Path(CANARY).exists():
                wrong.append(f"{kind} file {index} of seed {seed}: a shell ran a word of it")
                Path(CANARY).unlink(missing_ok=True)
    return counts, wrong


OUTPUTS = [file for file in KINDS["import"][1] if "perflogs" not in file.parts and "field" not in file.parts]
NETWORKS = ("osu", "imb", "netpipe", "perftest", "qperf", "iperf3", "netperf", "sockperf")
FREE = ("record", "runs", "block", "repetition", "source", "order_from", "resolution_seconds", "reason")
"""Columns that may differ: places in the file, text, and what follows from the number of rows."""
FREE_OF_JOBS = ("nodes", "cores", "oversubscription", "energy_joules", "valid")
"""Columns of a job of Slurm that depend on its steps: a dump without a step is a dump of a job without it."""
FROM_THREADS = ("threads", "cores", "oversubscription")
"""Columns that may differ if all rows have one thread, as rows do in a file without a column of threads."""


def mixed(lines: list[str], others: list[str], chance: random.Random, has_names: bool) -> list[str]:
    """Damage the lines of an output once; lines that only a name marks are not swapped."""
    lines = list(lines)
    here = chance.randrange(len(lines))
    kinds = (
        ("drop", "double", "mix", "column", "width")
        if has_names
        else ("drop", "double", "swap", "mix", "column", "width")
    )
    kind = chance.choice(kinds)
    if kind == "drop":
        del lines[here]
    elif kind == "double":
        lines.insert(here, lines[here])
    elif kind == "swap":
        there = chance.randrange(len(lines))
        lines[here], lines[there] = lines[there], lines[here]
    elif kind == "mix":
        start = chance.randrange(len(others))
        lines[here:here] = others[start : start + chance.randrange(1, 6)]
    elif kind == "column":
        column = chance.randrange(4)
        chosen = range(len(lines)) if chance.random() < 0.5 else [here]
        for index in chosen:
            cells = list(re.finditer(r"[^\s,;|]+[,;|]?", lines[index]))
            if program_of(lines[index]):
                continue  # a shorter title may be the title of another benchmark
            if column < len(cells):
                begin, end = cells[column].span()
                lines[index] = lines[index][:begin] + lines[index][end:]
    elif not has_names and "," not in lines[here]:  # a cut off last cell of a CSV file cannot be seen
        width = chance.randrange(1, max(2, *map(len, lines)))
        lines[here] = lines[here][:width]
    return lines or [""]


@functools.cache
def reading(file: Path) -> tuple[str, Any]:
    """Return the format of an output, and a mapping with which it is read."""
    form = {"reframe": None, "jube": None}.get(file.parent.name, file.parent.name)
    mapping = {"interconnect": {"value": "ib"}}
    if form not in NETWORKS:
        names = {"case": {"value": "duct"}, "may_differ": ["size", "cells", "greeting"]}
        mapping = names | (mapping | {"processes": {"value": 4}} if form == "sacct" else {})
    if file.name == "means.dat":
        mapping |= {"seconds": "solving_time"}
    return (form if form == "netpipe" else None), make_mapping(mapping)


def values(file: Path, form: str | None, mapping: Any) -> list[dict[str, Any]]:
    """Return the values of an output by row."""
    imported = read_foreign(file, form, mapping)
    free = FREE_OF_JOBS if "job" in imported.runs["record"].str.cat() else ()
    tables = [imported.runs, imported.curves, *imported.derived.values()]
    rows = [
        row
        for table in tables
        for row in table.drop(columns=[*FREE, *free], errors="ignore").to_dict("records")
    ]
    counted = [row for row in rows if row.get("valid", True)]
    skipped = FROM_THREADS if all(row.get("threads") == 1 for row in counted) else ()
    return [
        {name: value for name, value in row.items() if _is_there(value) and name not in skipped}
        for row in counted
    ]


def _is_there(value: Any) -> bool:
    return value is not None and value == value and str(value) != "<NA>"


@functools.cache
def whole(file: Path) -> list[dict[str, Any]]:
    try:
        return values(file, *reading(file))
    except TableError:
        return []


def foreign_to(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Return whether no row holds all values of a row."""
    if row in rows:
        return False
    return not any(all(_same(row[name], other.get(name)) for name in row) for other in rows)


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, float) and isinstance(other, float | int):
        return math.isclose(value, other, rel_tol=1e-9)
    return other is not None and value == other


def mix(number: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Damage and read that many outputs; see `attack` for the result."""
    chance, counts, wrong = random.Random(seed), Counter(), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for index in range(number):
            origin = OUTPUTS[index % len(OUTPUTS)]
            other = chance.choice([file for file in OUTPUTS if file.parent != origin.parent])
            has_names = origin.suffix == ".json" or origin.parent.name in ("qperf", "sockperf")
            lines = origin.read_text().split("\n")
            for _ in range(chance.randrange(1, 4)):
                lines = mixed(lines, other.read_text().split("\n"), chance, has_names)
            file = Path(folder) / origin.name
            file.write_text("\n".join(lines))
            where = f"{origin.parent.name}/{origin.name} {index} of seed {seed}"
            try:
                rows = values(file, *reading(origin))
                counts["read"] += 1
                printed = [*whole(origin), *whole(other)]
                strange = [row for row in rows if foreign_to(row, printed)]
                if strange and strange[0].get("benchmark", "x") in (
                    "x",
                    *(row.get("benchmark") for row in rows),
                ):
                    wrong.append(f"{where}: {strange[0]}")
            except TableError as error:
                counts["refused"] += 1
                if "\n" in str(error):
                    wrong.append(f"{where}: more than a line: {str(error)[:200]!r}")
            except Exception as error:
                wrong.append(f"{where}: {type(error).__name__}: {str(error)[:200]!r}")
    return counts, wrong


def main() -> int:
    """Attack as often as asked, and print what came of it."""
    if "mixed" in sys.argv[1:2]:
        given = [int(word) for word in sys.argv[2:]]
        number, seed = [*given, *(10000, 1)[len(given) :]]
        counts, wrong = mix(number, seed)
        print(f"{number} damaged outputs: {counts['refused']} refused, {counts['read']} read")
        print("\n".join(wrong) or "no traceback, no warning, and no value that the undamaged file lacks")
        return bool(wrong)
    given = [int(word) for word in sys.argv[1:]]
    number, seed = [*given, *(1000, 1)[len(given) :]]
    counts, wrong = attack(number, seed)
    for kind in KINDS:
        print(f"{kind}: {counts[kind, 'refused']} refused, {counts[kind, 'taken']} taken")
    print("\n".join(wrong) or "no traceback, and no shell ran a word of a file")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
