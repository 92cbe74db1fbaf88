"""Where everything lies: of the project, and of a study."""

from __future__ import annotations

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
"""Relative to the folder in which Snakemake runs, the project's root."""

FACTS = "facts.json"
"""Beside the runs.csv of a study of ours: titles of cases and interconnects, machine, versions."""


def record_name(repetition: Repetition, attempt: int) -> str:
    """Path of a record below the folder of all records."""
    point = repetition.point
    where = f"{point.case}/{point.interconnect or 'serial'}/processes-{point.processes}"
    over = "/".join([f"oversubscription-{point.oversubscription}", *point.varied])
    return f"{where}/{over}/block-{repetition.block}-attempt-{attempt}.json"


def trace_name(processes: int, threads: int = 1) -> str:
    """Folder of a trace within those of its case."""
    return f"processes-{processes}" + (f"-threads-{threads}" if threads > 1 else "")


class StudyPaths:
    """Where everything of a study lies, below the folder of its results: `RESULTS` / its name."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.records = results / "records"
        self.listed_records = results / "records.txt"
        """Records of all that was measured, the first attempt of each repetition."""
        self.requests = results / "again.jsonl"
        """Requests to run something again, one JSON object a line."""
        self.simulated = results / "simulated"
        """What was replayed; unlike records of runs, it belongs to a rule and is made anew."""
        self.processor = results / "processor.json"
        """How fast a core is of the machine that traces."""
        self.bandwidth = results / "bandwidth.json"
        """What bandwidth of memory 1, 2, 4, ... all of its cores have."""
        self.measured = results / "measured"
        """What the jobs of a cluster list, and note while they run."""
        self.interrupted = self.measured / "interrupted.txt"
        """Lines that the Snakemake that submitted the jobs is to print for them."""
        self.submitted = self.measured / "submitted.txt"
        """Numbers of the jobs that were submitted to Slurm, whatever became of them."""
        self.first_block = self.measured / "first-block.txt"
        """Records of the first block, where it is measured before anything is simulated."""
        self.report = results / "report.html"
        """While the study runs, and where it was stopped, a link to the report in `partial`."""
        self.partial = results / "partial"
        """Report of what is recorded until now, its tables and figures; belongs to no rule."""
        self.facts = results / FACTS
        self.runs = results / "runs.csv"
        self.looks = results / "looks.json"
        """Whole reports that were made; it belongs to no rule, so that none is forgotten."""

    def prepared(self, case: str, processes: int) -> Path:
        """Folder of a case prepared for a process count."""
        return self.results.joinpath("prepared", case, f"processes-{processes}")

    def expected(self, case: str) -> Path:
        """File of the answer that runs of a case must give."""
        return self.results.joinpath("prepared", case, "reference.json")

    def trace(self, case: str, processes: int, threads: int = 1) -> Path:
        """Folder of the trace of a case on a process count, of processes of so many threads."""
        return self.results / "traces" / case / trace_name(processes, threads)

    def times(self, case: str) -> Path:
        """File that says how long the tasks of a case take in serial runs."""
        return self.results / "times" / f"{case}.json"

    def fit(self, interconnect: str) -> Path:
        """File that says how well the model of a simulated interconnect repeats its curve."""
        return self.simulated / "fit" / f"{interconnect}.csv"

    def record(self, repetition: Repetition, attempt: int) -> Path:
        """Record of one attempt; its log lies beside it with the ending ``.log.gz``."""
        return self.records / record_name(repetition, attempt)

    def batch(self, name: str) -> Path:
        """File that lists the records of a batch, which one job measures."""
        return self.measured / f"{name}.txt"

    def notes(self, batch: str | None) -> Path:
        """File of what is under way in the job of a batch, or of the whole study."""
        return self.measured / f"{batch or 'allocation'}.running.json"
