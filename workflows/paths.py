"""Paths of the project and of a study."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workflows.domain import Repetition

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "cases"
CONFIG = ROOT / "config"
INTERCONNECTS = CONFIG / "interconnects"
STUDIES = CONFIG / "studies"
SCHEMAS = ROOT / "workflows/schemas"
RESULTS = Path("results")
"""Folder of all results, relative to the folder in which Snakemake runs: see `working_folder`."""

BUILT = (ROOT if os.access(ROOT / RESULTS, os.W_OK) else Path.cwd()) / RESULTS
"""Folder of built helpers. All nodes see it, and users of a read-only project can write there."""

FACTS = "facts.json"
"""File next to the runs.csv of a study: titles of cases and interconnects, machine, versions."""

PARAMETER = "parameter"
"""First word of the name of a parameter in the version of a case: see `version_file`."""


folder_of_user: Path | None = None
"""Folder that the current folder stands in for, in a dry run of ``--case`` or ``--command``; else None."""


results_are_elsewhere = False
"""Whether ``--results`` names another folder than the folder in which the user typed the command."""


def shown(path: Path) -> Path:
    """Return a path for messages: the full path if results are elsewhere."""
    return absolute(path) if results_are_elsewhere else path


def absolute(path: Path) -> Path:
    """Return the absolute path of a path that is relative to the folder in which the user's study runs."""
    return (folder_of_user or Path.cwd()) / path


def working_folder(here: Path) -> Path:
    """Return the folder in which studies run: the current folder, or the project's if that is inside it."""
    return ROOT if here.is_relative_to(ROOT) else here


def record_name(repetition: Repetition, attempt: int) -> str:
    """Return the path of a record, relative to the folder of all records."""
    point = repetition.point
    where = f"{point.case}/{point.interconnect or 'serial'}/processes-{point.processes}"
    over = "/".join([f"oversubscription-{point.oversubscription}", *point.varied])
    return f"{where}/{over}/block-{repetition.block}-attempt-{attempt}.json"


def trace_name(processes: int, threads: int = 1) -> str:
    """Return the folder of a trace, relative to the traces of its case."""
    return f"processes-{processes}" + (f"-threads-{threads}" if threads > 1 else "")


def version_file(prepared_case: Path, digest: str) -> Path:
    """Return the file with parameters and digests of input files of a case, for the version with a digest."""
    return prepared_case / "versions" / f"{digest}.json"


class StudyPaths:
    """Paths of a study, below the folder of its results: `RESULTS` / its name."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.records = results / "records"
        self.listed_records = results / "records.txt"
        """List of the records of the first attempt of each measured repetition."""
        self.requests = results / "again.jsonl"
        """Requests to repeat runs, one JSON object a line."""
        self.simulated = results / "simulated"
        """Records of replays. Unlike records of runs, a rule owns them and can make them again."""
        self.processor = results / "processor.json"
        """Speed of one core of the tracing machine."""
        self.bandwidth = results / "bandwidth.json"
        """Memory bandwidth of 1, 2, 4, ... all cores of the tracing machine."""
        self.measured = results / "measured"
        """Batches of cluster jobs and their notes while they run."""
        self.interrupted = self.measured / "interrupted.txt"
        """Lines of jobs for the submitting Snakemake to print."""
        self.submitted = self.measured / "submitted.txt"
        """Numbers of all jobs ever submitted to Slurm."""
        self.first_block = self.measured / "first-block.txt"
        """List of the records of the first block, if it is measured before simulations."""
        self.report = results / "report.html"
        self.partial = results / "partial"
        """Report, tables and figures of the blocks recorded so far; no rule owns it."""
        self.interim_report = self.partial / "report.html"
        """Report of an unfinished study; a link to `report` after its end."""
        self.facts = results / FACTS
        self.runs = results / "runs.csv"
        self.looks = results / "looks.json"
        """List of complete reports; no rule owns it, so Snakemake never deletes an entry."""

    def prepared(self, case: str, processes: int) -> Path:
        """Return the folder of a case prepared for a process count."""
        return self.results.joinpath("prepared", case, f"processes-{processes}")

    def version(self, case: str, digest: str) -> Path:
        """Return the file with the digests of the input files of a case, at the digest of its version."""
        return version_file(self.results / "prepared" / case, digest)

    def expected(self, case: str) -> Path:
        """Return the file with the expected answer of a case."""
        return self.results.joinpath("prepared", case, "reference.json")

    def trace(self, case: str, processes: int, threads: int = 1) -> Path:
        """Return the folder of the trace of a case on a count of processes and of threads per process."""
        return self.results / "traces" / case / trace_name(processes, threads)

    def times(self, case: str) -> Path:
        """Return the file with the serial times of the tasks of a case."""
        return self.results / "times" / f"{case}.json"

    def fit(self, interconnect: str) -> Path:
        """Return the file that compares the model of a simulated interconnect with its curve."""
        return self.simulated / "fit" / f"{interconnect}.csv"

    def record(self, repetition: Repetition, attempt: int) -> Path:
        """Return the record of one attempt; its log has the same path with the suffix ``.log.gz``."""
        return self.records / record_name(repetition, attempt)

    def batch(self, name: str) -> Path:
        """Return the list of the records of a batch, which one job measures."""
        return self.measured / f"{name}.txt"

    def notes(self, batch: str | None) -> Path:
        """Return the file of the runs in progress in the job of a batch, or in the whole allocation."""
        return self.measured / f"{batch or 'allocation'}.running.json"
