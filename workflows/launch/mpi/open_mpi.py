"""Open MPI: its launcher mpirun and its parameters (MCA, the modular component architecture)."""

from __future__ import annotations

import difflib
import functools
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workflows.domain import Point
from workflows.launch.emulation import INTERFACE
from workflows.launch.mpi.library import JobRanks, Launch, MpiLibrary, Ranks, RankVariables, Report

PARAMETER = "OMPI_MCA_"
"""Prefix of an environment variable that sets a parameter."""

YIELD_WHEN_IDLE = f"{PARAMETER}mpi_yield_when_idle"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

_REPORT_WINDOWS = {"osc_base_verbose": 1}  # a line for each closed window, read by `read_report`
# Open MPI creates shared-memory files in these folders; the default of most is /dev/shm.
_FOLDER_PARAMETERS = (
    "orte_tmpdir_base",
    "btl_vader_backing_directory",
    "osc_sm_backing_directory",
    "osc_rdma_backing_directory",
)
_EMULATED = {
    "btl_tcp_if_include": INTERFACE,
    "oob_tcp_if_include": INTERFACE,
    "plm_rsh_agent": "enter-node",
    "plm_rsh_no_tree_spawn": 1,
    "orte_leave_session_attached": 1,  # mpirun's daemons on the other nodes die with it
    "orte_launch_agent": "setpriv --pdeathsig KILL orted",
}

_VERBOSITY = "11"
"""Verbosity level at which transports report themselves. No other output of Open MPI has this level. So
workflows/launch/attester/attest.c can switch off exactly these outputs after the ping-pong: they would slow
later connections down."""
_TRANSPORT_LINE = re.compile(r"^\[[^]]+\] (?:mca|select|btl|mtl)\b.*\n?", re.M)
_TRANSPORT = re.compile(r"mca: bml: Using (\w+) btl for send to")
_PROVIDER = re.compile(r"mtl:ofi:provider: (\S+)")  # libfabric's name of its device
_CLOSED_WINDOW = re.compile(r"^\[.+\] (\w+) component destroying window with id \d+\n", re.M)
_REPORTING_COMPONENTS = {"pt2pt", "rdma"}  # the other one-sided components print nothing
_LISTED_PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:([^:]+):", re.M)


class OpenMpi(MpiLibrary):
    """Open MPI 4.

    Its own setting is ``launch.mca``: parameters, as mpirun takes them after ``--mca``.
    """

    name = "openmpi"
    title = "Open MPI"
    programs = ("mpirun",)
    package = "openmpi-bin"
    version_command = ("mpirun", "--version")
    compiler_package = "libopenmpi-dev"
    header_macros = ("OPEN_MPI",)
    shared_library = r"libmpi\.so(?!\.12\b)\S*"
    mpi4py_abi = "openmpi"
    rank_variables = RankVariables(
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"
    )
    job_launcher = "mpirun"
    environment_prefixes = ("OMPI_", "OPAL_", "PMIX_")
    # If mpirun inherits these variables, it assumes that it is a rank itself, and ends without a message.
    process_variables = (
        r"ORTE_.*"
        r"|OMPI_(APP_CTX_NUM_PROCS|ARGV|COMMAND|COMM_WORLD_.*|F(ILE_LOCATION|IRST_RANKS)|NUM_APP_CTX|UNIVERSE_SIZE)"
        r"|OMPI_MCA_(ess(_.*)?|initial_wdir|pmix|orte_(app_num|bound_at_launch|ess_.*|hnp_uri|jobfam_session_dir"
        r"|launch|local_daemon_uri|num_nodes|precondition_transports|top_session_dir))"
        rf"|{MpiLibrary.process_variables}"
    )
    messages_variable = "OPAL_OUTPUT_STDERR_FD"
    own_settings = frozenset({"mca"})
    serial_settings = MappingProxyType({"mca": {"btl": "self,vader"}})
    added_lines = r"\[[^]]+:\d+\] |\[[^]]+\]\[\[\d+,\d+\],\d+\]\["
    launcher_lines = r"(?:mpirun|mpiexec|orterun|prterun)\S* |Primary job |MPI_ABORT was invoked "
    status_lines = r"Primary job |\S+ detected that one or more processes exited with non-zero status"
    lost_node = "lost communication with a remote daemon"
    srun_plugins = ("pmix", "pmi2")
    pmi_query = "ompi_info --parsable"

    def launch(self, ranks: Ranks) -> Launch:
        """Return mpirun's command line; parameters in the case's environment override those of the run."""
        hosts = ranks.hosts or {"localhost": ranks.point.processes}
        parameters = {
            "pml": "ob1",
            "mpi_yield_when_idle": int(ranks.point.running > ranks.point.cores),
            "odls_base_num_threads": 0,  # a rank dies with the thread that started it
            **dict.fromkeys(_FOLDER_PARAMETERS, ranks.scratch),
            **_REPORT_WINDOWS,
            **(_EMULATED if ranks.hosts else {}),
            **ranks.settings.get("mca", {}),
            **{
                name.removeprefix(PARAMETER): value
                for name, value in ranks.variables.items()
                if name.startswith(PARAMETER)
            },
        }
        exported = {name: value for name, value in ranks.variables.items() if not name.startswith(PARAMETER)}
        slots = ",".join(f"{host}:{count}" for host, count in hosts.items())
        argv = [
            *("mpirun", "-n", str(ranks.point.processes), "--host", slots, "--bind-to", "none"),
            *(word for name, value in parameters.items() for word in ("--mca", name, str(value))),
            *(word for name in exported for word in ("-x", name)),
            *ranks.command,
        ]
        return Launch(argv, {**AS_ROOT, **exported})

    def launch_in_job(self, ranks: JobRanks) -> Launch:
        """Return mpirun's command line; its daemons start through the scheduler."""
        exported = (word for name in ranks.variables if not name.startswith("OMPI_") for word in ("-x", name))
        argv = [
            *("mpirun", "-n", ranks.number, "--host", ranks.slots, "--bind-to", "none"),
            *exported,
            *ranks.command,
        ]
        agent = " ".join([*ranks.enter_image, "orted"])
        variables = {f"{PARAMETER}orte_launch_agent": agent} if ranks.enter_image else {}
        return Launch(argv, variables | ranks.scheduler.mpirun_environment(ranks.hosts))

    def job_environment(
        self, point: Point, settings: Mapping[str, Any] | None, emulated: bool
    ) -> dict[str, str]:
        """Return the parameters of a run; shared-memory files stay on the node of their ranks."""
        parameters = {
            "pml": "ob1",
            "mpi_yield_when_idle": int(point.running > point.cores),
            **_REPORT_WINDOWS,
            **({"btl_tcp_if_include": INTERFACE} if emulated else {}),
            **(self.serial_settings if settings is None else settings).get("mca", {}),
        }
        return AS_ROOT | {f"{PARAMETER}{name}": str(value) for name, value in parameters.items()}

    def singleton_environment(self, scratch: Path) -> dict[str, str]:
        """Return the variables for a program without mpirun, where only ``pt2pt`` can create windows."""
        parameters = {"ess_singleton_isolated": 1, "btl": "self", "pml": "ob1", "osc": "pt2pt"}
        variables = {f"{PARAMETER}{name}": str(value) for name, value in parameters.items()}
        return variables | self.library_environment(scratch)

    def settings_problem(self, settings: Mapping[str, Any], emulated: bool) -> str | None:
        """Return one line for the first parameter in the settings that emulated nodes must set themselves."""
        fixed = sorted(_EMULATED.keys() & settings.get("mca", {}).keys()) if emulated else []
        if fixed:
            return f"launch.mca.{fixed[0]}: does not belong here, since kind is emulated: set for each run"
        return None

    def unknown_setting(self, settings: Mapping[str, Any]) -> str | None:
        """Return one line for the first parameter that ``ompi_info`` does not list: mpirun ignores it."""
        listed = _listed_parameters()
        for name in settings.get("mca", {}) if listed else ():
            if name not in listed:
                near = difflib.get_close_matches(name, listed, n=1)
                suggestion = f", did you mean {near[0]!r}?" if near else ""
                return f"launch.mca.{name}: Open MPI has no such parameter here{suggestion}"
        return None

    def option_problem(self, settings: Mapping[str, Any], environment: Mapping[str, str]) -> str | None:
        """Return why several threads of a rank cannot call MPI at the same time, if the case asks for it."""
        several_threads = environment.get("OMPI_MPI_THREAD_LEVEL") == "3"
        if several_threads and settings.get("mca", {}).get("osc") == "pt2pt":
            return "Open MPI's one-sided component pt2pt does not work with the threads of data servers"
        return None

    def reporting(self, settings: Mapping[str, Any], scratch: Path) -> dict[str, str]:
        """Return the variables that make Open MPI, and UCX if it is used, report their transports."""
        verbose = dict.fromkeys((f"{PARAMETER}btl_base_verbose", f"{PARAMETER}mtl_base_verbose"), _VERBOSITY)
        return verbose | super().reporting(settings, scratch)

    def read_report(self, messages: str, scratch: Path) -> Report:
        """Read transports (``tcp``, ``vader``, ``ofi/hfi1_0``) and the one-sided components."""
        ucx = super().read_report("", scratch)
        transports = {*ucx.transports, *_TRANSPORT.findall(messages)} - {"self"}
        transports |= {f"ofi/{device}" for device in _PROVIDER.findall(messages)}
        other = _TRANSPORT_LINE.sub("", _CLOSED_WINDOW.sub("", messages))
        return Report(sorted(transports), dict(Counter(_CLOSED_WINDOW.findall(messages))), other)

    def one_sided_problem(self, settings: Mapping[str, Any], report: Report, one_sided: bool) -> str | None:
        """Compare the components that carried one-sided messages with ``launch.mca.osc``.

        Within a node, the components ``rdma`` and ``sm`` use shared memory whatever ``btl`` names. ``pt2pt``
        sends messages through ``btl``.
        """
        parameters = settings.get("mca", {})
        wanted, carried = parameters.get("osc"), ", ".join(sorted(report.windows))
        if wanted and report.windows.keys() - set(wanted.split(",")):
            return (
                f"one-sided messages were carried by {carried}, not by {wanted} as the interconnect requires"
            )
        if wanted and set(wanted.split(",")) <= _REPORTING_COMPONENTS and one_sided and not report.windows:
            asked = "as the interconnect requires"
            return f"no message confirms that {wanted} carried the one-sided messages, {asked}"
        shared_memory = "vader" in parameters.get("btl", "vader")
        if not wanted and one_sided and not shared_memory and report.windows.keys() != {"pt2pt"}:
            component = carried or "an unknown component"
            return (
                f"one-sided messages were carried by {component}, which inside a node goes through shared "
                f"memory and not by btl {parameters['btl']}; add osc: pt2pt to the interconnect"
            )
        return None

    def pmi_problem(self, plugin: str, printed: str) -> str | None:
        """Compare a plug-in of Slurm with the components that ``ompi_info --parsable`` lists.

        Any two versions of PMIx from 2.1.1 on can talk to each other (openpmix.github.io, "How does PMIx work
        with containers?"), so only the presence of a component matters.
        """
        components = re.findall(r"^mca:pmix:(\w+):version:\"mca:", printed, re.M)
        needed = {"pmi2": "s2", "none": "-"}.get(plugin, r"(ext|pmix)\d\w*")
        if not components or any(re.fullmatch(needed, component) for component in components):
            return None
        version = re.search(r"^ompi:version:full:(\S+)", printed, re.M)
        number = version[1] if version else "(version unknown)"
        return f"Open MPI {number} of the image does not speak it (it has {', '.join(components)})"


@functools.cache
def _listed_parameters() -> frozenset[str]:
    """Return the names of all parameters that ``ompi_info`` lists; empty without that program."""
    if shutil.which("ompi_info") is None:
        return frozenset()
    command = ["ompi_info", "--all", "--parsable"]
    listing = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return frozenset(_LISTED_PARAMETER.findall(listing.stdout))
