"""Make a model of an interconnect from its benchmarks: ``./run-study --model NAME FILE ...``."""

from __future__ import annotations

import argparse
import math
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
from analysis.topics.simulated.figures import draw_model_fit
from analysis.topics.validation import PROBE_TOLERANCE
from workflows.domain import Interconnect
from workflows.errors import InputError
from workflows.inputs import whole_number
from workflows.paths import INTERCONNECTS, RESULTS, ROOT, STUDIES, working_folder
from workflows.replay.points import PROGRAMS
from workflows.simulation import fit, programs, replayer
from workflows.simulation.curve import read_curves
from workflows.simulation.derive import at_rate, derive
from workflows.simulation.model import make_model
from workflows.study.asked import cores_per_node
from workflows.study.interconnects import find_interconnect, load_interconnect
from workflows.study.study import read_study

MODELS = RESULTS / ".models"
"""Folder with the fit of each model: a table and a figure. It is relative to the folder of results."""
LEAST_RATE = 1e-3
"""Smallest value of ``--rate``, 10^6 bytes/s."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"--model: {message}")


def _cores(text: str) -> int:
    return whole_number("cores", text, 1)


def _eager_bytes(text: str) -> int:
    return whole_number("eager", text, 0)


def _rate(text: str) -> float:
    """Return the value of ``--rate``."""
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not (LEAST_RATE <= rate < math.inf):
        raise InputError(f"--rate: {text!r} is not a number from {LEAST_RATE:g} on (10^6 bytes/s)")
    return rate


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments after ``--model``.

    Raises
    ------
    InputError
        An argument is missing, unknown or outside its range: one line.
    """
    parser = _Parser(
        prog="run-study --model",
        description="Make NAME.yaml, a simulated interconnect, from its benchmarks.",
    )
    parser.add_argument(
        "name", metavar="NAME", help="name of the model in studies: lowercase letters, digits and _"
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="output of OSU, IMB or NetPIPE between two nodes, or tables/network.csv of a study; at least a "
        "ping-pong (osu_latency), and osu_bw and osu_bibw if you have them",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="format of every FILE except CSV, if its content does not show it: netpipe for NetPIPE's np.out",
    )
    parser.add_argument("--interconnect", metavar="I", help="interconnect to read, if a file has several")
    parser.add_argument("--inside", metavar="FILE", help="ping-pong inside a node")
    parser.add_argument("--cores", type=_cores, metavar="N", help="cores per node; by default 1")
    parser.add_argument("--study", help="study that states the cores per node, instead of --cores")
    parser.add_argument(
        "--eager",
        type=_eager_bytes,
        metavar="BYTES",
        help="largest message that does not wait for its receiver",
    )
    parser.add_argument(
        "--rate",
        type=_rate,
        metavar="MBPS",
        help="bandwidth of a slower link than the measured link, 10^6 bytes/s",
    )
    parser.add_argument(
        "--predicts", metavar="I", help="interconnect whose measured times validate the model"
    )
    parser.add_argument(
        "--folder",
        help="output folder, a study's interconnects_folder, created if missing; by default the current "
        "folder, inside the project config/interconnects",
    )
    parser.add_argument("--title", help="title in legends and tables; by default the name")
    options = parser.parse_args(words)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", options.name):
        raise InputError(
            f"--model: {options.name!r} must be a lowercase letter, then lowercase letters, digits and _"
        )
    if options.study and options.cores:
        raise InputError("--study: does not belong here, since --cores is given")
    return options


def new_model(words: Sequence[str], here: Path) -> list[str]:
    """Write the file of a simulated interconnect, its curve, and the table and figure of its fit.

    Parameters
    ----------
    words : sequence of str
        See `arguments`.
    here : Path
        Folder of the user, to which paths in `words` are relative.

    Returns
    -------
    list of str
        Warnings, results, assumptions, the quality of the fit, and the paths of the files.

    Raises
    ------
    InputError
        The arguments or files are wrong: one line. Nothing is written then.
    """
    options = arguments(words)
    is_project = working_folder(here) == ROOT
    folder = here / options.folder if options.folder else INTERCONNECTS if is_project else here
    file, curve_file = (folder / f"{options.name}.{suffix}" for suffix in ("yaml", "csv"))
    for output in (file, curve_file):
        if output.exists():
            raise InputError(f"--model: {output} exists already: remove it, or choose another name")
    cores = options.cores
    if options.study:
        cores = cores_per_node(read_study(_study_file(options.study, here)), options.name)
    predicted = None
    if options.predicts:
        predicts_file = find_interconnect(options.predicts, folder, "--predicts")
        predicted = load_interconnect(options.predicts, predicts_file.parent)
    if predicted and predicted.kind == "simulated":
        raise InputError(f"--predicts: {options.predicts}: is simulated; it must be measured or emulated")
    curves, unread = _all_curves([here / name for name in options.files], options)
    inside, unread_inside = _curves(here / options.inside, options) if options.inside else (None, [])
    derived = derive(curves, inside, cores, options.eager)
    if options.rate:
        derived = at_rate(derived, options.rate)
    try:
        curve = CURVES.validate(derived.curve.reindex(columns=list(CURVES.columns)), lazy=True)
    except SchemaErrors as errors:
        raise InputError(f"--model: {first_fault(errors, '')}") from None
    probe_us, warnings = _attestation(curves)
    derived.simulate["curve"] |= {"file": curve_file.name, "interconnect": options.name}
    files = listed([Path(name).name for name in options.files])
    content = {
        "name": options.name,
        "kind": "simulated",
        "title": options.title or options.name.replace("_", " "),
        "description": f"Model made of {files}.",
        "simulate": {"source": " ".join([f"Made of {files} by ./run-study --model.", *derived.notes])}
        | ({"predicts": options.predicts} if options.predicts else {})
        | ({"one_machine": True} if predicted and _is_one_machine(predicted) else {})
        | ({"probe_us": probe_us} if probe_us else {})
        | derived.simulate
        | ({"one_sided": "messages"} if predicted and _sends_one_sided_by_messages(predicted) else {}),
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--folder: {options.folder}: {error.strerror}") from None
    try:
        write_table(curve, curve_file)
        file.write_text(text, encoding="utf-8")
        model = make_model(load_interconnect(options.name, folder), ROOT)
        table = fit.fit_table(programs.build(replayer.SOURCE, PROGRAMS), model)
    except BaseException as error:
        file.unlink(missing_ok=True)
        curve_file.unlink(missing_ok=True)
        if isinstance(error, TableError):
            raise InputError(f"--model: {' '.join(str(error).split())}") from None
        raise
    fitted = MODELS / options.name
    fitted.mkdir(parents=True, exist_ok=True)
    table.to_csv(fitted / "fit.csv", index=False)
    drawing = draw_model_fit(table, options.name, content["title"], model.curve.switches)
    figure = save(drawing, fitted, png=True).with_suffix(".png")
    return [
        *warnings,
        *(f"Not read: {line}" for line in (*unread, *unread_inside)),
        *derived.notes,
        _fit_sentence(table),
        f"{file}; fit: {figure.absolute()}",
    ]


def _study_file(name: str, here: Path) -> Path:
    """Return the file of a study: as the user typed it, or by its name in config/studies."""
    file = here / name
    return STUDIES / f"{name}.yaml" if (STUDIES / f"{name}.yaml").exists() and not file.exists() else file


def _is_one_machine(interconnect: Interconnect) -> bool:
    return interconnect.kind == "emulated" or interconnect.place == "machine"


def _sends_one_sided_by_messages(interconnect: Interconnect) -> bool:
    """Return whether Open MPI's component ``pt2pt`` carries its one-sided calls."""
    parameters: dict[str, str] = interconnect.launch.get("mca", {})
    return parameters.get("osc") == "pt2pt"


def _all_curves(files: Sequence[Path], options: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of all files, and their unread lines. Each benchmark must be in a single file."""
    tables, unread = [], []
    of_benchmark: dict[str, Path] = {}
    for file in files:
        curves, lines = _curves(file, options)
        for benchmark in curves["benchmark"].unique():
            if (other := of_benchmark.setdefault(benchmark, file)) != file:
                raise InputError(f"--model: {benchmark} is in {other} and in {file}; name only one of them")
        tables.append(curves)
        unread += lines
    return pd.concat(tables, ignore_index=True), unread


def _curves(file: Path, options: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of the chosen or only interconnect of a file, and the file's unread lines."""
    chosen = options.interconnect
    try:
        imported = read_curves(file, chosen or options.name, options.format)
    except (TableError, OSError) as error:
        raise InputError(f"--model: {' '.join(str(error).split())}") from None
    curves = imported.curves
    names = list(dict.fromkeys(curves["interconnect"].dropna()))
    if not names and "transports" in imported.derived:
        raise InputError(
            f"--model: {file}: holds tests of a transport below MPI, which make no model: a model needs a "
            "ping-pong of MPI, such as osu_latency"
        )
    if not names:
        raise InputError(f"--model: {file}: has no curve")
    if chosen and chosen not in names:
        raise InputError(f"--interconnect: no {chosen!r} in {file}; known: {', '.join(names)}")
    if not chosen and len(names) > 1:
        raise InputError(
            f"--model: {file}: has several interconnects ({', '.join(names)}): choose one with --interconnect"
        )
    rows = curves[curves["interconnect"] == (chosen or names[0])]
    return rows.assign(interconnect=options.name), imported.unread


def _attestation(curves: pd.DataFrame) -> tuple[float | None, list[str]]:
    """Return the time of the ping-pong that attested the curves, and a warning if it changed.

    Returns
    -------
    float or None
        Median of the first benchmark's runs in µs; None if the curves lack the column.
    list of str
        A warning if the medians of the benchmarks differ by more than `PROBE_TOLERANCE`.
    """
    if "probe_latency_us" not in curves or curves["probe_latency_us"].isna().all():
        return None, []
    by_benchmark = curves.groupby("benchmark", sort=False)["probe_latency_us"].median().dropna()
    probe_us = float(by_benchmark.iloc[0])
    if by_benchmark.max() <= PROBE_TOLERANCE * by_benchmark.min():
        return probe_us, []
    medians = listed([f"{name} {number(us)} µs" for name, us in by_benchmark.items()])
    return probe_us, [f"The ping-pong before each run changed between benchmarks ({medians}): measure again."]


def _fit_sentence(table: pd.DataFrame) -> str:
    """Return a sentence on how closely the model reproduces its ping-pong."""
    summary = fit.fit_summary(table)
    mean, largest = summary.left_out_mean_percent, summary.left_out_largest_percent
    sentence = (
        f"The model reproduces its {summary.points} points within {summary.mean_percent:.1f} % on average, "
        f"{summary.largest_percent:.1f} % at most"
    )
    if summary.left_out_points:
        sentence += (
            f"; points from {fit.LEFT_OUT_FROM_BYTES} bytes on, fitted without them, within "
            f"{mean:.1f} % on average, {largest:.1f} % at most"
        )
    return f"{sentence}."
