"""The interface of an MPI library. docs/extending/mpi.md shows how to add a library."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from workflows.domain import InputError, Point
from workflows.jobs.scheduler import Scheduler
from workflows.launch.programs import output_of, run_compiler, shared_libraries

TOOLS = ("taskset", "setpriv")
"""Programs that every launch needs, from the Debian package util-linux."""

FINALIZE = "MPI4PY_RC_FINALIZE"
"""Variable of mpi4py; with the value 0, ranks in Python end without MPI_Finalize."""

_UCX_LOG = "transport-*.log"
_UCX_ENDPOINT = re.compile(r"ep_cfg\[\d+\]: \w+\(([^)]*)\)")  # transport/device pairs, separated by blanks


@dataclass(frozen=True)
class RankVariables:
    """Environment variables in which a launcher numbers the ranks, for the script ``workflows/launch/rank``.

    Attributes
    ----------
    rank : str
        Variable with the rank in MPI_COMM_WORLD.
    local_rank : str
        Variable with the rank among the ranks on the same node.
    local_size : str or None
        Variable with the number of ranks on the node. None: the script uses ``NODEWORTH_RANKS_OF_NODES``.
    """

    rank: str
    local_rank: str
    local_size: str | None


@dataclass(frozen=True)
class Launch:
    """A command line and its environment variables."""

    argv: list[str]
    env: dict[str, str]


@dataclass(frozen=True)
class Ranks:
    """Ranks to start on this machine, or on the emulated nodes on it.

    Attributes
    ----------
    point : Point
        Number of processes, cores and nodes.
    settings : mapping
        Section ``launch`` of the interconnect; `MpiLibrary.serial_settings` for a serial run.
    hosts : mapping of str to int
        Number of ranks on each emulated node, in the order of the ranks. Empty: all ranks on this machine.
    command : sequence of str
        Command line of each rank.
    variables : mapping of str to str
        Environment variables that the interconnect and the case give to the ranks.
    scratch : Path
        Folder of the run, with a path short enough for sockets.
    """

    point: Point
    settings: Mapping[str, Any]
    hosts: Mapping[str, int]
    command: Sequence[str]
    variables: Mapping[str, str]
    scratch: Path


@dataclass(frozen=True)
class JobRanks:
    """Ranks to start on the nodes of a cluster's job.

    Attributes
    ----------
    hosts : mapping of str to int
        Number of ranks on each node, in the order of the ranks.
    command : sequence of str
        Command line of each rank.
    variables : collection of str
        Names of the environment variables that the ranks must get.
    scheduler : Scheduler
        Scheduler of the cluster.
    enter_image : sequence of str
        Command line that enters the container image on a node; empty without an image.
    """

    hosts: Mapping[str, int]
    command: Sequence[str]
    variables: Collection[str]
    scheduler: Scheduler
    enter_image: Sequence[str]

    @property
    def slots(self) -> str:
        """Hosts with their numbers of ranks, as ``n1:2,n2:1``."""
        return ",".join(f"{host}:{count}" for host, count in self.hosts.items())

    @property
    def number(self) -> str:
        """Number of ranks, as a word of a command line."""
        return str(sum(self.hosts.values()))


@dataclass(frozen=True)
class Report:
    """What an MPI library reported in the ranks of a run.

    Attributes
    ----------
    transports : list of str
        Transports between different ranks, as the library names them (``tcp``, ``rc_mlx5/mlx5_0:1``).
        Empty: the library does not report them.
    windows : dict of str to int
        For each component of the library, the number of one-sided windows that it closed, over all ranks.
    other_messages : str
        Messages of the library about anything else.
    """

    transports: list[str]
    windows: dict[str, int] = field(default_factory=dict)
    other_messages: str = ""


class MpiLibrary(ABC):
    """An MPI library: how to start its ranks, compile for it, and read what it reports.

    A subclass sets the attributes without a default and defines `launch` and `launch_in_job`. It overrides
    other methods only if its library differs from the default.
    """

    name: ClassVar[str]
    """Value of ``launch.mpi`` of an interconnect."""

    title: ClassVar[str]
    """Name in messages and reports."""

    programs: ClassVar[tuple[str, ...]]
    """Programs that must be installed to start ranks."""

    package: ClassVar[str]
    """Debian package of `programs`."""

    version_command: ClassVar[tuple[str, ...]]
    """Command that prints the version in its first line."""

    compiler_package: ClassVar[str]
    """Debian package of the compiler ``mpicc.NAME``."""

    header_macros: ClassVar[tuple[str, ...]]
    """Macros of ``mpi.h``, at least one of which is defined only by this library."""

    shared_library: ClassVar[str]
    """Regular expression for the name of its shared library, as ``ldd`` lists it."""

    mpi4py_abi: ClassVar[str]
    """Value of ``MPI4PY_MPIABI``. Without it, mpi4py takes the library that the linker finds first."""

    rank_variables: ClassVar[RankVariables]
    """How a rank learns its number from the launcher of this library."""

    job_launcher: ClassVar[str]
    """Value of ``launcher`` in a site file for this library's own launcher."""

    environment_prefixes: ClassVar[tuple[str, ...]] = ()
    """Prefixes of the environment variables that configure the library. Records keep these variables."""

    process_variables: ClassVar[str] = r"PMI_.*|PMIX_(?!MCA_).*"
    """Regular expression for variables that mark a process as a rank. No run inherits them."""

    messages_variable: ClassVar[str | None] = None
    """Variable with the file descriptor to which the library writes its own messages, if it has one."""

    own_settings: ClassVar[frozenset[str]] = frozenset()
    """Keys of section ``launch`` that this library needs and others refuse, besides ``env``."""

    serial_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Section ``launch`` of a serial run."""

    oversubscription_problem: ClassVar[str | None] = None
    """Why ranks of this library cannot share a core, in one line. None: they can."""

    added_lines: ClassVar[str | None] = None
    """Regular expression for the beginning of lines that the library adds to standard error of a rank."""

    launcher_lines: ClassVar[str | None] = None
    """Regular expression for the beginning of each text that its launcher adds to standard error."""

    status_lines: ClassVar[str | None] = None
    """Regular expression for texts of its launcher that contain only an exit status."""

    lost_node: ClassVar[str | None] = None
    """Text with which its launcher reports a lost node."""

    srun_plugins: ClassVar[tuple[str, ...]]
    """Values of ``srun --mpi`` with which its ranks find each other, the best first."""

    pmi_query: ClassVar[str | None] = None
    """Shell command that prints which process-management interfaces (PMI) the library has."""

    @abstractmethod
    def launch(self, ranks: Ranks) -> Launch:
        """Return the launcher's command line, and the environment variables for launcher and ranks.

        The launcher must not bind ranks to cores: ``workflows/launch/rank`` pins each rank. Ranks are
        numbered host by host. ``enter-node HOST COMMAND...`` on the ``PATH`` starts a command on an emulated
        node.
        """

    @abstractmethod
    def launch_in_job(self, ranks: JobRanks) -> Launch:
        """Return the launcher's command line in a job, and the environment variables for the launcher."""

    def job_environment(
        self, point: Point, settings: Mapping[str, Any] | None, emulated: bool
    ) -> dict[str, str]:
        """Return the variables that configure the library in a job, whatever starts the ranks.

        `settings` is section ``launch`` of the interconnect, None for a serial run.
        """
        return {}

    def library_environment(self, scratch: Path) -> dict[str, str]:
        """Return the variables that make a program load this library; may put files into `scratch`."""
        return {"MPI4PY_MPIABI": self.mpi4py_abi}

    def singleton_environment(self, scratch: Path) -> dict[str, str]:
        """Return the variables for a program that starts without a launcher."""
        return self.library_environment(scratch)

    def missing_programs(self) -> str | None:
        """Return which programs are not installed, with their Debian packages; None if all are."""
        missing = [program for program in (*self.programs, *TOOLS) if shutil.which(program) is None]
        return f"{', '.join(missing)} not installed (Debian: {self.package}, util-linux)" if missing else None

    def version(self) -> str | None:
        """Return the first line that `version_command` prints; None if the library is not installed."""
        return " ".join(output_of(*self.version_command).partition("\n")[0].split()) or None

    def file_of(self, program: str) -> str | None:
        """Return the file of this library that a program (name or path) is linked to, symlinks resolved.

        None if the program does not exist, is a script, or is linked to another library.
        """
        match = re.search(rf"\b(?:{self.shared_library}) => (/\S+)", shared_libraries(program))
        return str(Path(match[1]).resolve()) if match else None

    def compiler(self) -> str | None:
        """Return the compiler wrapper for this library, ``mpicc.NAME`` or ``mpicc``; None without one."""
        return next(filter(self._compiles, (f"mpicc.{self.name}", "mpicc")), None)

    def _compiles(self, compiler: str) -> bool:
        """Whether a compiler wrapper exists and finds the header of this library."""
        if not shutil.which(compiler):
            return False
        try:
            macros = run_compiler([compiler, "-E", "-dM", "-x", "c", "-"], "#include <mpi.h>\n")
        except InputError:
            return False
        return any(f"#define {macro} " in macros for macro in self.header_macros)

    def settings_problem(self, settings: Mapping[str, Any], emulated: bool) -> str | None:
        """Return what is wrong with section ``launch`` of an interconnect; None if nothing is."""
        return None

    def unknown_setting(self, settings: Mapping[str, Any]) -> str | None:
        """Return one line for the first setting that the installed library lacks; None if it has all."""
        return None

    def option_problem(self, settings: Mapping[str, Any], environment: Mapping[str, str]) -> str | None:
        """Return why a case with `environment` cannot run with `settings`; None if it can."""
        return None

    def uses_ucx(self, settings: Mapping[str, Any]) -> bool:
        """Whether the library may send messages through UCX with these settings."""
        return "ucx" in str(dict(settings)).lower()

    def reporting(self, settings: Mapping[str, Any], scratch: Path) -> dict[str, str]:
        """Return the variables that make the library report its transports for `read_report`."""
        if not self.uses_ucx(settings):
            return {}
        return {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": str(scratch / _UCX_LOG.replace("*", "%h-%p"))}

    def read_report(self, messages: str, scratch: Path) -> Report:
        """Read what the library reported, from its messages and from UCX's logs in `scratch`.

        `messages` is what the ranks wrote to the descriptor of `messages_variable`.
        """
        logs = fnmatch.filter(sorted(os.listdir(scratch)), _UCX_LOG)
        log = "".join((scratch / name).read_text(errors="replace") for name in logs)
        endpoints = (lanes.split() for lanes in _UCX_ENDPOINT.findall(log) if "self/" not in lanes)
        transports = {lane for lanes in endpoints for lane in lanes if "/" in lane}
        return Report(sorted(transports), other_messages=messages)

    def one_sided_problem(self, settings: Mapping[str, Any], report: Report, one_sided: bool) -> str | None:
        """Return why one-sided messages did not go through the interconnect; None if they did.

        Parameters
        ----------
        one_sided : bool
            Whether the application made one-sided calls.
        """
        return None

    def pmi_problem(self, plugin: str, printed: str) -> str | None:
        """Return why ranks that ``srun --mpi=PLUGIN`` starts would not find each other; None if they would.

        `printed` is the output of `pmi_query`, empty if the library is not installed.
        """
        return None
