"""The command ``./run-study --interconnects``: find the interconnects of this machine, or of a cluster."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflows.discovery.found import Found, file_in, find, listing, write_files
from workflows.errors import InputError
from workflows.jobs.cluster import Cluster, read_cluster
from workflows.jobs.scheduler import JobRequest
from workflows.launch.emulation import usable_cores
from workflows.measure.allocation import this_allocation
from workflows.paths import INTERCONNECTS, RESULTS, ROOT, StudyPaths
from workflows.plan.here import unavailable_now
from workflows.plan.jobs import site_resources
from workflows.plan.machine import only_study_on_this_machine
from workflows.study.interconnects import kinds_in, load_interconnect
from workflows.study.study import read_study

SNAKEFILE = ROOT / "workflows/rules/find_interconnects.smk"
FOUND = RESULTS / ".interconnects/found.json"
"""File in which the job of a cluster writes its result (`Found.as_json`)."""

FOLDER = "interconnects"
"""Name of the folder for the files, unless the study names a folder."""

NODE_MB, JOB_MINUTES = 2000, 15
"""Memory of each node (MB) and walltime (minutes) of the job."""


HELP = """\
Lists the interconnects that runs can select on this machine, or on the nodes of a cluster.

  ./run-study --interconnects [STUDY] [--write] [--profile cluster [OPTION...]]

  --write              writes a file for each, with the ranges of a short ping-pong, into the
                       interconnects_folder of STUDY, else into interconnects/ next to STUDY or in the
                       current folder
  --profile cluster    asks and measures in a job of two nodes; an OPTION is one of Snakemake
"""


@dataclass(frozen=True)
class Request:
    """The words after ``--interconnects``; `options` are options of Snakemake."""

    study: str | None
    writes: bool
    profile: str | None
    options: Sequence[str]

    @classmethod
    def of(cls, words: Sequence[str]) -> Request:
        """Parse the words that a user typed after ``--interconnects``.

        Raises
        ------
        InputError
            A word is unknown, or the profile is missing: one line.
        """
        left = [part for word in words if word != "--write" for part in _parts(word)]
        profile = None
        if "--profile" in left:
            place = left.index("--profile")
            if place + 1 == len(left):
                raise InputError("--profile: a profile is missing: --profile cluster")
            profile = left[place + 1]
            del left[place : place + 2]
        study = left.pop(0) if left and not left[0].startswith("-") else None
        if left and not profile:
            raise InputError(
                f"--interconnects: {left[0]!r} is unknown; allowed: --write, --profile and a study"
            )
        return cls(study, "--write" in words, profile, left)


def _parts(word: str) -> list[str]:
    """Return the words of ``--profile=NAME``; any other word as it is."""
    return word.split("=", 1) if word.startswith("--profile=") else [word]


def find_interconnects(
    words: Sequence[str], here: Path, study_file: Callable[[str, Path], Path]
) -> list[str]:
    """List the interconnects, and write their files if ``--write`` is among the `words`.

    Parameters
    ----------
    words : sequence of str
        What follows ``--interconnects``.
    here : Path
        Folder in which the user typed it.
    study_file : callable
        Returns the file of a study that is named in a folder.

    Raises
    ------
    InputError
        One line.
    """
    request = Request.of(words)
    folder = _folder(study_file(request.study, here) if request.study else None, here)
    if request.profile:
        discovered = _find_on_cluster(request.profile, request.options)
    else:
        discovered = find(cores=0)
        if request.writes and not all(file_in(folder, each).exists() for each, _ in discovered.interconnects):
            with only_study_on_this_machine(lambda line: print(line, file=sys.stderr, flush=True)):
                discovered = find(cores=len(usable_cores()))
    lines = [*listing(discovered), *_shipped(is_cluster=bool(request.profile))]
    if not request.writes:
        return [*lines, f"--write measures each with a ping-pong and writes its file into {folder}"]
    lines += write_files(discovered, folder)
    if not request.study:
        lines.append(f"A study in {here} uses them with the key interconnects_folder: {FOLDER}")
    return lines


def _folder(study: Path | None, here: Path) -> Path:
    """Return the folder for the files of a study, or of the current folder."""
    if study is None:
        return here / FOLDER
    return read_study(study).interconnects_folder or study.parent / FOLDER


def _shipped(is_cluster: bool) -> list[str]:
    """Return lines with the project's emulated and simulated interconnects, which are not hardware here."""
    kinds = kinds_in(INTERCONNECTS)
    lines = []
    if not is_cluster:
        emulated = [load_interconnect(name, INTERCONNECTS) for name in kinds if kinds[name] == "emulated"]
        reasons = {interconnect.name: unavailable_now(interconnect) for interconnect in emulated}
        usable = [name for name, reason in reasons.items() if reason is None]
        reason = next(filter(None, reasons.values()), "")
        links = ", ".join(usable) or f"none here: {reason}"
        lines.append(f"emulated (shaped links between two nodes on this machine): {links}")
    models = [name for name, kind in kinds.items() if kind == "simulated"]
    lines.append(f"simulated (models, which use no hardware): {len(models)}, such as {', '.join(models[:3])}")
    return lines


def _find_on_cluster(profile: str, options: Sequence[str]) -> Found:
    """Find interconnects in a job of two nodes of a cluster.

    `options` are options of Snakemake, such as ``--config cluster=FILE``.

    Raises
    ------
    SystemExit
        Snakemake failed and printed the reason, or only planned the job (a dry run).
    """
    FOUND.unlink(missing_ok=True)
    command = [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(SNAKEFILE), "--profile", profile]
    command += ["--workflow-profile", str(ROOT / "profiles/default")]  # of the project, from any folder
    status = subprocess.run([*command, *options]).returncode
    if status or not FOUND.exists():
        sys.exit(status)
    return Found.from_json(FOUND.read_text())


def job_resources(cluster: Cluster) -> dict[str, object]:
    """Return the Snakemake resources of the job: two nodes, or one if the cluster has only one."""
    if cluster.is_elsewhere:
        missing = f"{cluster.scheduler.name}: {cluster.scheduler.absence}"
        raise InputError(f"{cluster.file}: scheduler: {missing}, so no job can be submitted here")
    available = cluster.nodes_of(None)
    nodes, cores = min(2, available.number), min(2, available.cores)
    request = JobRequest(nodes, cores, NODE_MB, min(JOB_MINUTES, cluster.minutes))
    resources = cluster.scheduler.resources(cluster, request, cluster.selection(None))
    return site_resources(cluster) | {name: value for name, value in resources.items() if value is not None}


def find_in_job(cluster_file: Path) -> Found:
    """Find the interconnects of the nodes of the job in which this process runs."""
    cluster = read_cluster(cluster_file)
    with this_allocation(cluster, StudyPaths(FOUND.parent), None) as allocation:
        return find(allocation.nodes, cores=cluster.nodes_of(None).cores)
