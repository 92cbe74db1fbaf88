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
from workflows.launch.programs import output_of

PARAMETER = "OMPI_MCA_"
"""Prefix of an environment variable that sets a parameter."""

YIELD_WHEN_IDLE = f"{PARAMETER}mpi_yield_when_idle"
AS_ROOT = {
    f"{launcher}_ALLOW_RUN_AS_ROOT{confirmed}": "1"
    for launcher in ("OMPI", "PRTE")
    for confirmed in ("", "_CONFIRM")
}

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

_LAUNCHER_OF_5 = {
    "oob_tcp_if_include": "prte_if_include",
    "plm_rsh_agent": "plm_ssh_agent",
    "plm_rsh_no_tree_spawn": "plm_ssh_no_tree_spawn",
    "orte_leave_session_attached": "prte_leave_session_attached",
    "orte_launch_agent": "prte_launch_agent",
    "orte_tmpdir_base": "prte_tmpdir_base",
    "odls_base_num_threads": "odls_base_num_threads",
}
"""Parameters of the launcher, and their names in Open MPI 5, whose launcher PRRTE takes them by
``--prtemca``."""
_FRAMEWORKS = ("pml", "btl", "mtl", "osc")
"""Parameters whose value is a list of components."""

_VERBOSITY = "11"
"""Verbosity level at which transports report themselves. No other output of Open MPI has this level. So
workflows/launch/attester/attest.c can switch off exactly these outputs after the ping-pong: they would slow
later connections down."""
_TRANSPORT_LINE = re.compile(r"^\[[^]]+\] (?:mca|select|btl|mtl)\b.*\n?", re.M)
_TRANSPORT = re.compile(r"mca: bml: Using (\w+) btl for send to")
_PROVIDER = re.compile(r"mtl:ofi:provider: (\S+)")  # libfabric's name of its device
_CLOSED_WINDOW = re.compile(r"^\[.+\] (\w+) component destroying window with id \d+\n", re.M)
_REPORTING_COMPONENTS = {"pt2pt", "rdma"}  # the other one-sided components print nothing
_LISTED_COMPONENT = r"^mca:(pml|btl|mtl|osc):(\w+):version:"
_LISTED_PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:([^:]+):", re.M)


class OpenMpi(MpiLibrary):
    """Open MPI 4 and 5. The version is asked once; each launch uses the options of that version.

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
        r"ORTE_.*|PRTE_(?!ALLOW_|MCA_).*"
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
        options = (_option(name, str(value)) for name, value in parameters.items())
        argv = [
            *("mpirun", "-n", str(ranks.point.processes), "--host", slots, "--bind-to", "none"),
            *(word for option in options for word in option),
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
        daemon, name = ("orted", "OMPI_MCA_orte") if major_version() < 5 else ("prted", "PRTE_MCA_prte")
        agent = " ".join([*ranks.enter_image, daemon])
        variables = {f"{name}_launch_agent": agent} if ranks.enter_image else {}
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
        options = (_option(name, str(value)) for name, value in parameters.items())
        return AS_ROOT | {f"{PARAMETER}{name}": value for _, name, value in options}

    def singleton_environment(self, scratch: Path) -> dict[str, str]:
        """Return the variables for a program without mpirun, where only ``pt2pt`` can create windows."""
        osc = "pt2pt" if major_version() < 5 else "rdma"
        parameters = {"ess_singleton_isolated": 1, "btl": "self", "pml": "ob1", "osc": osc}
        variables = {f"{PARAMETER}{name}": str(value) for name, value in parameters.items()}
        return variables | self.library_environment(scratch)

    def settings_problem(self, settings: Mapping[str, Any], emulated: bool) -> str | None:
        """Return one line for the first parameter in the settings that emulated nodes must set themselves."""
        fixed = sorted(_EMULATED.keys() & settings.get("mca", {}).keys()) if emulated else []
        if fixed:
            return f"launch.mca.{fixed[0]}: does not belong here, since kind is emulated: set for each run"
        return None

    def unknown_setting(self, settings: Mapping[str, Any]) -> str | None:
        """Return one line for the first parameter or component that ``ompi_info`` does not list.

        mpirun ignores such a parameter, and every run with such a component fails.
        """
        listed, components = _listed_parameters(), _listed_components()
        for name, value in settings.get("mca", {}).items() if listed else ():
            if name not in listed:
                near = difflib.get_close_matches(name, listed, n=1)
                suggestion = f", did you mean {near[0]!r}?" if near else ""
                return f"launch.mca.{name}: Open MPI has no such parameter here{suggestion}"
            for component in _of_version(name, str(value)).lstrip("^").split(","):
                if name in _FRAMEWORKS and component not in components.get(name, {component}):
                    known = ", ".join(sorted(components[name]))
                    return (
                        f"launch.mca.{name}: {component}: Open MPI {major_version()} has no such component "
                        f"here; it has {known}"
                    )
        return None

    def missing_programs(self) -> str | None:
        """Return which programs are missing; ``mpirun`` of another library counts as missing."""
        missing = super().missing_programs()
        version = " ".join(output_of(*self.version_command).split())
        if missing or not version or re.search(r"Open ?MPI|OpenRTE|PRRTE|prterun", version, re.I):
            return missing
        return (
            f"{shutil.which('mpirun')} is not Open MPI's: it answers --version with {version[:40]!r}; put "
            "the folder of Open MPI's mpirun first on the PATH"
        )

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
        shared_memory = bool({"vader", "sm"} & set(parameters.get("btl", "vader").split(",")))
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


def major_version() -> int:
    """Return the major version of Open MPI, which ``mpirun`` is asked for once; 4 if it does not answer."""
    match = re.search(r"Open MPI\) (\d+)\.", output_of(*OpenMpi.version_command))
    return int(match[1]) if match else 4


def _of_version(name: str, value: str) -> str:
    """Return the value of a parameter for this version: from 5 on, ``vader`` is called ``sm``."""
    return re.sub(r"\bvader\b", "sm", value) if name == "btl" and major_version() >= 5 else value


def _option(name: str, value: str) -> tuple[str, str, str]:
    """Return option, name and value of a parameter for the launcher of this version."""
    if major_version() < 5:
        return "--mca", name, value
    if name in _LAUNCHER_OF_5:
        return "--prtemca", _LAUNCHER_OF_5[name], value.replace("orted", "prted")
    return "--mca", name.replace("btl_vader_", "btl_sm_"), _of_version(name, value)


@functools.cache
def _listed_components() -> dict[str, set[str]]:
    """Return the names of the components by framework, as ``ompi_info`` lists them; empty without it."""
    listed: dict[str, set[str]] = {}
    for framework, component in re.findall(_LISTED_COMPONENT, output_of("ompi_info", "--parsable"), re.M):
        listed.setdefault(framework, set()).add(component)
    return listed


@functools.cache
def _listed_parameters() -> frozenset[str]:
    """Return the names of all parameters that ``ompi_info`` lists; empty without that program."""
    if shutil.which("ompi_info") is None:
        return frozenset()
    command = ["ompi_info", "--all", "--parsable"]
    listing = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return frozenset(_LISTED_PARAMETER.findall(listing.stdout))
