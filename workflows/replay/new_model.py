"""Make the model of an interconnect from benchmarks of it: ``./run-study --model NAME FILE ...``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pandas as pd
import yaml
from pandera.errors import SchemaErrors

from analysis.importers import FORMATS
from analysis.importers.results import CURVES, write_table
from analysis.presentation.drawing import save
from analysis.presentation.formats import listed, number
from analysis.runs.columns import first_fault
from analysis.runs.errors import TableError
from analysis.topics.simulated.fit_figure import draw_model_fit
from analysis.topics.validation import PROBE_TOLERANCE
from workflows.domain import Interconnect
from workflows.errors import InputError
from workflows.paths import INTERCONNECTS, RESULTS, ROOT
from workflows.replay.points import PROGRAMS
from workflows.simulation import fit, programs, replayer
from workflows.simulation.curve import read_curves
from workflows.simulation.derive import at_rate, derive
from workflows.simulation.model import make_model
from workflows.study.interconnects import load_interconnect

MODELS = ROOT / RESULTS / ".models"
"""Folder of what tells how well models fit."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"--model: {message}")


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse what follows ``--model``.

    Raises
    ------
    InputError
        One line.
    """
    parser = _Parser(
        prog="run-study --model",
        description="Make config/interconnects/NAME.yaml, to be simulated, from benchmarks of a real one.",
    )
    parser.add_argument("name", metavar="NAME", help="what studies call it: small letters, digits and _")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="output of OSU, IMB or NetPIPE between two nodes, or tables/network.csv of a study; a ping-pong "
        "(osu_latency) at least, and where there are osu_bw and osu_bibw",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="of every FILE but CSV, where the content does not show it: netpipe for NetPIPE's np.out",
    )
    parser.add_argument("--interconnect", metavar="I", help="which one, where a file has several")
    parser.add_argument("--inside", metavar="FILE", help="a ping-pong inside a node")
    parser.add_argument("--cores", type=int, metavar="N", help="of a node")
    parser.add_argument("--eager", type=int, metavar="BYTES", help="largest message sent without waiting")
    parser.add_argument(
        "--rate", type=float, metavar="MBPS", help="of a slower link than was measured, 10^6 bytes/s"
    )
    parser.add_argument(
        "--predicts", metavar="I", help="interconnect whose measured times it is held against"
    )
    parser.add_argument(
        "--folder", help="where it goes, a study's interconnects_folder; made if it is not there"
    )
    parser.add_argument("--title", help="for legends and tables; by default its name")
    given = parser.parse_args(words)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", given.name):
        raise InputError(f"--model: {given.name!r} is no name: small letters, digits and _")
    for option, least in (("cores", 1), ("eager", 0), ("rate", 1e-3)):
        if (value := getattr(given, option)) is not None and value < least:
            raise InputError(f"--{option}: {value}: must be at least {least}")
    return given


def new_model(words: Sequence[str], here: Path) -> list[str]:
    """Write the file of an interconnect, its curve, how well the model repeats it and a figure of that.

    Parameters
    ----------
    words : sequence of str
        See `arguments`.
    here : Path
        Folder in which the user typed them.

    Returns
    -------
    list of str
        What was found, what is assumed, and where it is.

    Raises
    ------
    InputError
        One line; then nothing is written.
    """
    given = arguments(words)
    folder = here / given.folder if given.folder else INTERCONNECTS
    file, curve_file = (folder / f"{given.name}.{suffix}" for suffix in ("yaml", "csv"))
    for there in (file, curve_file):
        if there.exists():
            raise InputError(
                f"--model: {_path_for_display(there)} is there already; remove it, or take another name"
            )
    predicted = load_interconnect(given.predicts, INTERCONNECTS) if given.predicts else None
    if predicted and predicted.kind == "simulated":
        raise InputError(f"--predicts: {given.predicts}: is simulated; its times are no measurements")
    curves, unread = _all_curves([here / name for name in given.files], given)
    inside, also_unread = _curves(here / given.inside, given) if given.inside else (None, [])
    made = derive(curves, inside, given.cores, given.eager)
    if given.rate:
        made = at_rate(made, given.rate)
    try:
        curve = CURVES.validate(made.curve.reindex(columns=list(CURVES.columns)), lazy=True)
    except SchemaErrors as errors:
        raise InputError(f"--model: {first_fault(errors, '')}") from None
    probe_us, warnings = _probed(curves)
    made.simulate["curve"] |= {"file": curve_file.name, "interconnect": given.name}
    files = listed([Path(name).name for name in given.files])
    content = {
        "name": given.name,
        "kind": "simulated",
        "title": given.title or given.name.replace("_", " "),
        "description": f"Model made of {files}.",
        "simulate": {"source": " ".join([f"Made of {files} by ./run-study --model.", *made.told])}
        | ({"predicts": given.predicts} if given.predicts else {})
        | ({"one_machine": True} if predicted and _in_one_machine(predicted) else {})
        | ({"probe_us": probe_us} if probe_us else {})
        | made.simulate
        | ({"one_sided": "messages"} if predicted and _one_sided(predicted) == "pt2pt" else {}),
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--folder: {given.folder}: {error.strerror}") from None
    try:
        write_table(curve, curve_file)
        file.write_text(text, encoding="utf-8")
        model = make_model(load_interconnect(given.name, folder), ROOT)
        table = fit.fit_table(programs.build(replayer.SOURCE, PROGRAMS), model)
    except BaseException as error:
        file.unlink(missing_ok=True)
        curve_file.unlink(missing_ok=True)
        if isinstance(error, TableError):
            raise InputError(f"--model: {' '.join(str(error).split())}") from None
        raise
    fitted = MODELS / given.name
    fitted.mkdir(parents=True, exist_ok=True)
    table.to_csv(fitted / "fit.csv", index=False)
    drawing = draw_model_fit(table, given.name, content["title"], model.curve.switches)
    figure = save(drawing, fitted, png=True).with_suffix(".png")
    warnings += [f"Not read: {line}" for line in (*unread, *also_unread)]
    return [
        *warnings,
        *made.told,
        *_judged(table),
        f"{_path_for_display(file)}; how it fits: {_path_for_display(figure)}",
    ]


def _in_one_machine(interconnect: Interconnect) -> bool:
    return interconnect.kind == "emulated" or interconnect.place == "machine"


def _one_sided(interconnect: Interconnect) -> str | None:
    """Open MPI's component that carries one-sided calls, where the interconnect names one."""
    parameters: dict[str, str] = interconnect.launch.get("mca", {})
    return parameters.get("osc")


def _path_for_display(path: Path) -> Path:
    """Return the path relative to the project's folder if it lies inside; else unchanged."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def _all_curves(files: Sequence[Path], given: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """Rows of all files, and what could not be read of them; no benchmark is in two of them."""
    tables, unread = [], []
    of_benchmark: dict[str, Path] = {}
    for file in files:
        curves, lines = _curves(file, given)
        for benchmark in curves["benchmark"].unique():
            if (other := of_benchmark.setdefault(benchmark, file)) != file:
                raise InputError(f"--model: {benchmark} is in {other} and in {file}; give one of them")
        tables.append(curves)
        unread += lines
    return pd.concat(tables, ignore_index=True), unread


def _curves(file: Path, given: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """Rows of a file's only interconnect, or of the one that was named, and what could not be read."""
    try:
        imported = read_curves(file, given.interconnect or given.name, given.format)
    except (TableError, OSError) as error:
        raise InputError(f"--model: {' '.join(str(error).split())}") from None
    curves, wanted = imported.curves, given.interconnect
    known = list(dict.fromkeys(curves["interconnect"].dropna()))
    if not known:
        raise InputError(f"--model: {file}: holds no curve")
    if wanted and wanted not in known:
        raise InputError(f"--interconnect: no {wanted!r} in {file}; known: {', '.join(known)}")
    if not wanted and len(known) > 1:
        named = ", ".join(known)
        raise InputError(f"--model: {file}: has several interconnects ({named}): name one by --interconnect")
    rows = curves[curves["interconnect"] == (wanted or known[0])]
    return rows.assign(interconnect=given.name), imported.unread


def _probed(curves: pd.DataFrame) -> tuple[float | None, list[str]]:
    """What the ping-pong took that attests the runs of the curves, and a word where it changed meanwhile."""
    if "probe_latency_us" not in curves or curves["probe_latency_us"].isna().all():
        return None, []
    by_benchmark = curves.groupby("benchmark", sort=False)["probe_latency_us"].median().dropna()
    probe_us = float(by_benchmark.iloc[0])
    told = [f"{name} {number(took)}" for name, took in by_benchmark.items()]
    is_steady = by_benchmark.max() <= PROBE_TOLERANCE * by_benchmark.min()
    said = "The ping-pong that attests each run took longer beside some benchmarks"
    return probe_us, [] if is_steady else [f"{said} (µs: {listed(told)}): better measure them again."]


def _judged(table: pd.DataFrame) -> list[str]:
    """How well the model repeats its ping-pong."""
    about = fit.fit_summary(table)
    said = f"Its {about.points} points are repeated within {about.mean_percent:.1f} % on average"
    said += f", {about.largest_percent:.1f} % at most"
    if about.left_out_points:
        said += f"; points from {fit.LEFT_OUT_FROM_BYTES} bytes on that it does not know, within "
        said += (
            f"{about.left_out_mean_percent:.1f} % on average, {about.left_out_largest_percent:.1f} % at most"
        )
    return [f"{said}."]
