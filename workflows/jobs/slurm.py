"""Slurm, through the profile in ``cluster`` and the executor in ``workflows/plugins``."""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import re
import shlex
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from workflows.domain import InputError
from workflows.jobs.scheduler import (
    ASK_SECONDS,
    UNKNOWN,
    EnergyCounter,
    Job,
    JobRequest,
    Nodes,
    NodeSelection,
    Scheduler,
    SiteKey,
    output_of,
)

if TYPE_CHECKING:
    from workflows.jobs.cluster import Cluster

PATIENCE_SECONDS = 60.0
"""Time in which a restarted controller must answer."""

UNKNOWN_NUMBER = 2**63
"""Slurm writes 0, or a number from this one on, for a value that it has not counted."""

REASONS_SHOWN = 3
"""Number of reasons why nodes are out of service that a message lists."""

_NO_CONTROLLER = (
    r"unable to contact|connection (refused|timed out)|socket timed out"
    r"|zero bytes were transmitted|message (receive|send) failure"  # ended after it accepted the connection
)
_CLUSTER_LINE = re.compile(r"^CLUSTER: .*\n", re.M)
"""Heading of each cluster's rows in the answer about several clusters."""
_CHOOSING = ("SQUEUE_", "SINFO_", "SACCT_", "SACCTMGR_", "SCONTROL_", "SLURM_BITSTR_LEN")
"""Beginnings of variables with which users choose columns, rows and clusters of Slurm's answers."""
_EXCLUSIVE = SiteKey("exclusive", True, "timed runs get whole nodes")
_NOT_CONFIGURED = "could not establish a configuration source"
_SUBMIT_LIMIT = re.compile(r"(?:Assoc|QOS)\w*Submit\w*Limit")
_PASSING_LIMIT = re.compile(r"(?:Assoc|QOS)(?:Max|Grp)Jobs")
_LASTING_LIMITS = ("Assoc", "QOS", "Partition", "BadConstraints")
_UNAVAILABLE_NODES = ("ReqNodeNotAvail", "Nodes required for job")


class Slurm(Scheduler):
    """Slurm: nodes, jobs and their states, reasons of waiting jobs, neighbours, accounting and energy."""

    name = "slurm"
    title = "Slurm"
    submit_program = "sbatch"
    job_variable = "SLURM_JOB_ID"
    job_prefixes = ("SLURM_",)
    hidden_prefixes = ("SLURM_", "SRUN_", "SBATCH_")
    visible_variables = ("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_CONF", "SLURM_CLUSTER_NAME", "SLURM_CLUSTERS")
    own_launcher = "srun"
    cluster_keys = (
        "partition",
        "partitions",
        "constraint",
        "constraints",
        "reservation",
        "account",
        "qos",
        "extra",
    )
    log_folder = "slurm_logs"
    describes_nodes = True
    counts_restarts = True
    shows_neighbours = True

    @property
    def folder(self) -> str:
        """Folder of ``--profile cluster``, which is Slurm's."""
        return "cluster"

    # Jobs and their states

    def this_job(self) -> Job | None:
        """Return the job in which this process runs; None outside of a job."""
        number = os.environ.get(self.job_variable)
        return read_job(ask("scontrol", "show", "job", "--oneliner", number)) if number else None

    def job(self, number: str) -> Job:
        """Ask the controller for a job; ask the accounting if the controller no longer knows the job."""
        try:
            return read_job(ask("scontrol", "show", "job", "--oneliner", number))
        except InputError as error:
            if "Invalid job id" not in str(error):
                raise
        try:
            shown = ask("sacct", "-n", "-X", "-P", "-j", number, "-o", "State,NodeList", patience_seconds=0)
        except InputError:  # no accounting
            return Job(number, UNKNOWN)
        state, _, nodes = shown.partition("\n")[0].partition("|")
        return Job(number, state.split(" ")[0] or UNKNOWN, nodes or None)  # CANCELLED by 1000

    def hosts(self, node_list: str) -> tuple[str, ...]:
        """Return the host names of a list such as ``n[1-2]``."""
        return tuple(ask("scontrol", "show", "hostnames", node_list).split())

    def waiting_reasons(self, jobs: Collection[str]) -> Iterator[tuple[str, str]]:
        """Ask why jobs wait, and explain each reason in one line.

        Parameters
        ----------
        jobs : collection of str
            Numbers of jobs. Jobs that no longer wait are left out.

        Yields
        ------
        tuple of str
            Reason, and line: ``job 7 and 2 more: REASON, explanation``. Nothing if Slurm gives no answer.
        """
        by_reason: dict[str, list[str]] = {}
        if not jobs:
            return
        with contextlib.suppress(InputError):
            listed = ask("squeue", "--noheader", f"--jobs={','.join(sorted(jobs))}", "--format=%i|%r|%T")
            rows = (line.split("|") for line in listed.splitlines() if line.count("|") == 2)
            for job, reason, state in rows:
                if state == "PENDING":
                    by_reason.setdefault(reason, []).append(job)
        for reason, waiting in by_reason.items():
            others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
            yield reason, f"job {waiting[0]}{others}: {reason}{_explanation(reason)}"

    def submit_limit(self, message: str) -> str | None:
        """Return the limit of submitted jobs that ``sbatch`` names, if any; see `Scheduler.submit_limit`."""
        limit = _SUBMIT_LIMIT.search(message)
        return limit[0] if limit else None

    # Asking for nodes

    @property
    def is_here(self) -> bool:
        """Whether jobs can be submitted here. Slurm's programs may be installed without a controller."""
        return self.job_variable in os.environ or (super().is_here and has_controller())

    @property
    def absence(self) -> str:
        """Reason why `is_here` is false."""
        return "no controller answers" if super().is_here else super().absence

    def site_keys(self) -> list[SiteKey]:
        """Ask Slurm for partitions, nodes, accounts and limits, for the keys of a new site file."""
        if not self.is_here:
            partition = SiteKey("partition", None, "partition of the jobs", "compute")
            account = SiteKey("account", None, "account that jobs are charged to", "project")
            minutes = SiteKey("minutes", 60, "longest walltime of a job")
            return [partition, account, _EXCLUSIVE, minutes, *super().site_keys()]
        return [*_partition_keys(), *_account_keys()]

    def mpi_plugins(self) -> list[str]:
        """Ask ``srun`` for its plugins."""
        listed = output_of(["sh", "-c", "srun --mpi=list 2>&1"], "srun --mpi=list")
        plugins = re.findall(r"\b(?:none|openmpi|(?:pmi|cray)\w*)\b", listed.partition("are...")[2])
        return list(dict.fromkeys(plugins))

    def nodes_of(self, selection: NodeSelection, file: Path) -> Nodes:
        """Ask for the nodes of a selection; see `nodes_of`."""
        return nodes_of(selection, file)

    def resources(
        self, cluster: Cluster, request: JobRequest, selection: NodeSelection
    ) -> dict[str, int | str | None]:
        """Return the resources of a job, as Snakemake's executor for Slurm reads them.

        ``cpus_per_task`` overrides the threads of a rule. ``mpi`` is None for a job of a single task, because
        the executor refuses ``mpi`` there. ``slurm_extra`` is quoted, because the executor passes it to a
        shell.
        """
        tasks = request.nodes * request.tasks_per_node
        options = [
            f"--ntasks-per-node={request.tasks_per_node}",
            *_reservation_option(cluster.reservation),
            *_timed_options(cluster),
        ]
        return {
            "nodes": request.nodes,
            "tasks": tasks,
            "mem_mb": request.memory_MB,
            "runtime": self.runtime(request.minutes),
            "cpus_per_task": 1,
            "slurm_extra": shlex.join(options),
            "mpi": cluster.launcher if tasks > 1 else None,
            **({"slurm_partition": selection.partition} if cluster.partitions else {}),
            **({"constraint": selection.constraint} if cluster.constraints else {}),
        }

    def common_resources(self, cluster: Cluster) -> dict[str, str]:
        """Return the resources of every job of a cluster."""
        resources = {
            "slurm_partition": cluster.partition,
            "slurm_account": cluster.account,
            "constraint": cluster.constraint,
            "qos": cluster.qos,
            "slurm_extra": " ".join(_reservation_option(cluster.reservation)) or None,
        }
        return {name: value for name, value in resources.items() if value is not None}

    def check_requests(
        self,
        cluster: Cluster,
        requests: Mapping[str, tuple[JobRequest, NodeSelection]],
        preparing_minutes: int,
    ) -> None:
        """Ask ``sbatch --test-only`` whether it would accept the jobs; see `Scheduler.check_requests`."""
        for batch, (request, selection) in requests.items():
            size = [f"--nodes={request.nodes}", f"--ntasks-per-node={request.tasks_per_node}"]
            size += [f"--mem={request.memory_MB}", f"--time={request.minutes}"]
            _check_request(cluster, batch, size, selection, _timed_options(cluster))
        if requests:
            size = ["--ntasks=1", f"--time={preparing_minutes}"]
            _check_request(cluster, "what prepares a case", size, cluster.selection(None), [])

    # Inside a job

    def neighbours(self, job: Job) -> list[str]:
        """Describe the jobs of others on the nodes of a job: ``job 7 of anna on n1``."""
        shown = ask("squeue", "--noheader", "--states=R", f"--nodelist={job.node_list}", "--format=%A|%u|%N")
        rows = (line.split("|") for line in shown.splitlines() if line.count("|") == 2)
        return [f"job {number} of {user} on {nodes}" for number, user, nodes in rows if number != job.number]

    def hides_neighbours(self) -> bool:
        """Whether Slurm hides jobs of others or nodes from a user (``PrivateData``)."""
        return hides_neighbours()

    def requeue(self) -> None:
        """Put the job of this process back into the queue."""
        ask("scontrol", "requeue", os.environ[self.job_variable])

    def mpirun_environment(self, ranks: Mapping[str, int]) -> dict[str, str]:
        """Return the settings of the step in which Open MPI's ``mpirun`` starts its daemons."""
        return {
            "SLURM_NODELIST": ",".join(ranks),
            "SLURM_NNODES": str(len(ranks)),
            "SLURM_TASKS_PER_NODE": ",".join(map(str, ranks.values())),
            "SLURM_OVERLAP": "1",
            "SLURM_CPU_BIND": "none",
        }

    def hydra_options(self) -> list[str]:
        """Return the options with which ``mpiexec.hydra`` starts its proxies by ``srun``."""
        return ["-bootstrap", "slurm"]

    def hydra_environment(self) -> dict[str, str]:
        """Return the settings of the step in which ``mpiexec.hydra`` starts its proxies."""
        return {"SLURM_OVERLAP": "1"}

    def check_image(self, enter: Sequence[str], cluster: Cluster) -> None:
        """Check that jobs can start ranks in an image.

        Raises
        ------
        InputError
            ``sinfo`` fails inside the image. Or the launcher is ``srun``, which runs outside the image, and
            ``srun`` lacks the MPI plugin of the site file.
        """
        failure = f"{cluster.file}: container: in {enter[-1]} Slurm gives no answer"
        output_of([*enter, "sh", "-c", "sinfo --noheader >/dev/null"], failure)
        if cluster.launcher != self.own_launcher:
            return
        key = f"{cluster.file}: mpi_plugin"
        plugins = self.mpi_plugins()
        if cluster.mpi_plugin not in plugins:
            raise InputError(f"{key}: {cluster.mpi_plugin}: this Slurm has {', '.join(plugins)}")

    # Accounting

    def accounts(self, jobs: Iterable[str]) -> str:
        """Return the accounting of jobs; empty without accounting, or if it does not answer."""
        columns = "JobID,JobName,State,AllocCPUS,ElapsedRaw,ConsumedEnergyRaw"
        command = ("sacct", "--parsable2", "--allocations", "--duplicates", f"--format={columns}")
        try:
            return ask(*command, f"--jobs={','.join(jobs)}", patience_seconds=0)
        except InputError:
            return ""

    def energy_counter(self) -> EnergyCounter | None:
        """Return the plugin of Slurm that counts the energy of each step; None if none is configured."""
        config = dict(re.findall(r"^(AcctGather\w+)\s*=\s*(\S+)", ask("scontrol", "show", "config"), re.M))
        plugin = config.get("AcctGatherEnergyType", "none").removeprefix("acct_gather_energy/")
        if plugin in ("none", "(null)"):
            return None
        return EnergyCounter(f"Slurm: {plugin}", float(config.get("AcctGatherNodeFreq", 0)) or None)

    def step_energy(self, step: str) -> float | None:
        """Return the joules of an ended step; see `Scheduler`."""
        command = ("sacct", "--noheader", "--parsable2", f"--jobs={step}", "--format=State,ConsumedEnergyRaw")
        state, _, counted = ask(*command, patience_seconds=0).partition("\n")[0].partition("|")
        if state in ("", "RUNNING"):
            return None
        joules = int(counted) if counted.isdigit() else 0
        if not 0 < joules < UNKNOWN_NUMBER:
            raise InputError(f"sacct: ConsumedEnergyRaw of step {step}: {counted or 'empty'}")
        return joules


def ask(*command: str, patience_seconds: float = PATIENCE_SECONDS) -> str:
    """Run a command of Slurm, and return its standard output.

    If the controller does not answer, the command is repeated for `patience_seconds`. The user's settings of
    Slurm's commands change nothing in the answer: see `_environment`.

    Raises
    ------
    InputError
        One line if the command is missing, fails, or gets no answer in time.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            done = subprocess.run(
                command, env=_environment(), capture_output=True, text=True, timeout=ASK_SECONDS
            )
            if not done.returncode:
                return _CLUSTER_LINE.sub("", done.stdout)
            problem = done.stderr.strip() or done.stdout
            is_temporary = re.search(_NO_CONTROLLER, done.stderr, re.I) is not None
        except FileNotFoundError:
            raise InputError(f"{command[0]}: no such program; is this a cluster with Slurm?") from None
        except subprocess.TimeoutExpired:
            problem, is_temporary = f"no answer in {ASK_SECONDS:g} s", True
        if not is_temporary or time.monotonic() > deadline:
            raise InputError(f"{command[0]}: {' '.join(problem.split())}")
        time.sleep(1)


def _environment() -> dict[str, str]:
    """Return the environment of Slurm's commands, in which their answers have one form.

    Times are UTC, so an hour that the local clock repeats in autumn is unambiguous. Variables that choose
    other columns, rows or clusters than the options are left out; ``SLURM_CLUSTERS`` names the cluster of
    this job and stays. Jobs of other clusters of a federation have numbers of their own and are left out.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_CHOOSING)}
    return kept | {"SLURM_TIME_FORMAT": "standard", "LC_ALL": "C", "TZ": "UTC0", "SQUEUE_LOCAL": "1"}


def read_job(shown: str) -> Job:
    """Read what ``scontrol show job --oneliner`` prints, with times in UTC.

    Raises
    ------
    InputError
        The number or the state is missing: the line quotes what Slurm printed.
    """
    line = next((line for line in shown.splitlines() if "JobId=" in line), "")
    fields = dict(re.findall(r"(?:^| )([A-Z]\w+)=(\S*)", line))
    if not fields.get("JobId") or not fields.get("JobState"):
        printed = " ".join(shown.split())[:100] or "nothing"
        raise InputError(f"scontrol: show job: no JobId or JobState in its answer: {printed}")
    nodes, restarts = fields.get("NodeList"), fields.get("Restarts", "")
    return Job(
        fields["JobId"],
        fields["JobState"],
        None if nodes in ("", "(null)", "None") else nodes,
        int(restarts) if restarts.isdigit() else 0,
        _seconds_since_1970(fields.get("EndTime", "")),
        fields.get("Partition") or None,
    )


def _seconds_since_1970(printed: str) -> float | None:
    """Return a time of Slurm, in UTC; None for ``Unknown``, an empty field or any other form.

    Examples
    --------
    >>> [_seconds_since_1970(text) for text in ("1970-01-01T00:01:00", "Unknown", "10:15", "")]
    [60.0, None, None, None]
    """
    try:
        moment = datetime.fromisoformat(printed)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() if "T" in printed else None


@functools.cache
def nodes_of(selection: NodeSelection, file: Path) -> Nodes:
    """Ask Slurm for the nodes of a selection, including nodes that are down.

    `file` names the site file in messages.

    Raises
    ------
    InputError
        If Slurm has no such partition, default partition, reservation or features, or hides its nodes.
    """
    partition, constraint, reservation = selection
    try:
        shown = ask("sinfo", "--noheader", *_nodes_option(reservation, file), "--format=%P|%D|%c|%z|%m|%f")
    except InputError as error:
        if "permission denied" not in str(error):
            raise
        raise InputError(
            f"{file}: nodes, cores_per_node, memory_per_node_MB: must be given where Slurm hides nodes "
            f"(PrivateData): {error}"
        ) from None
    rows = [line.split("|") for line in shown.splitlines()]
    names = {partition} if partition else {row[0].rstrip("*") for row in rows if row[0].endswith("*")}
    selected = [row for row in rows if row[0].rstrip("*") in names]
    if not selected:
        partitions = ", ".join(sorted({row[0].rstrip("*") for row in rows}))
        raise InputError(f"{file}: partition: {partition or 'no default'}: Slurm has {partitions}")
    if constraint:
        features = set().union(*(row[-1].split(",") for row in selected)) - {"(null)"}
        selected = [row for row in selected if _satisfies(set(row[-1].split(",")), constraint)]
        if not selected:
            raise InputError(
                f"{file}: constraint: {constraint!r}: no node of {', '.join(sorted(names))} has it; features "
                f"there: {', '.join(sorted(features)) or 'none'}"
            )
    number = sum(int(nodes) for _, nodes, *_ in selected)
    cores = min(min(_least(processors), _cores(layout)) for _, _, processors, layout, *_ in selected)
    return Nodes(number, cores, min(_least(memory) for *_, memory, _ in selected))


@functools.cache
def has_controller() -> bool:
    """Whether Slurm's programs have a controller. If the controller restarts, wait for its answer."""
    try:
        ask("sinfo", "--noheader", "--format=%P")
    except InputError as error:
        return not re.search(rf"{_NOT_CONFIGURED}|{_NO_CONTROLLER}", str(error), re.I)
    return True


def _partition_keys() -> list[SiteKey]:
    """Return the keys of a site file for the default (else the first) partition and its nodes."""
    shown = ask("sinfo", "--noheader", "--format=%P|%l|%D|%c|%z|%m|%f")
    rows = [line.split("|") for line in shown.splitlines()]
    longest = {row[0].rstrip("*"): row[1] for row in rows}
    name = next((row[0] for row in rows if row[0].endswith("*")), rows[0][0]).rstrip("*")
    nodes = nodes_of(NodeSelection(name), Path("sinfo"))
    features = {feature for row in rows if row[0].rstrip("*") == name for feature in row[-1].split(",")}
    minutes = _minutes(longest[name])
    limit = "any" if minutes is None else f"{minutes // 60}:{minutes % 60:02}"
    return [
        SiteKey("partition", name, f"sinfo lists {', '.join(longest)}"),
        *_constraint_key(features - {"(null)"}),
        _EXCLUSIVE,
        SiteKey("minutes", min(60, minutes or 60), f"longest walltime of a job; {name} allows {limit} hours"),
        SiteKey("nodes", nodes.number, f"most nodes of a job: all nodes of {name}"),
        SiteKey("cores_per_node", nodes.cores, f"cores of the smallest node of {name}"),
        SiteKey("memory_per_node_MB", nodes.memory_MB, f"memory of the smallest node of {name}"),
    ]


def _constraint_key(features: set[str]) -> list[SiteKey]:
    """Return the key ``constraint`` for the user to fill in, with the nodes' features; empty without any."""
    named = sorted(features)
    return [SiteKey("constraint", None, f"features of nodes: {', '.join(named)}", named[0])] if named else []


def _minutes(limit: str) -> int | None:
    """Return the minutes of a limit as ``sinfo`` shows it (``2-00:00:00``, ``30:00``); None without a limit.

    Examples
    --------
    >>> _minutes("2-00:00:00"), _minutes("2:00:00"), _minutes("30:00"), _minutes("infinite")
    (2880, 120, 30, None)
    """
    if not (match := re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):\d+", limit)):
        return None
    days, hours, minutes = (int(number or 0) for number in match.groups())
    return (days * 24 + hours) * 60 + minutes


def _account_keys() -> list[SiteKey]:
    """Return the keys of a site file for the accounts and limits of this user, from the accounting."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    show = ("sacctmgr", "--noheader", "--parsable2", "show")
    try:
        default = ask(*show, "user", user, "format=DefaultAccount", patience_seconds=0).strip()
        listed = ask(*show, "assoc", f"user={user}", "format=Account,QOS,MaxSubmit", patience_seconds=0)
    except InputError:
        default, listed = "", ""
    rows = [line.split("|") for line in listed.splitlines()]
    if not rows:
        return [SiteKey("account", None, "sacctmgr lists no accounts of yours", "project")]
    account = default or rows[0][0]
    accounts = dict.fromkeys(row[0] for row in rows)
    keys = [SiteKey("account", account, f"sacctmgr lists {', '.join(accounts)}")]
    _, qos, most_jobs = next((row for row in rows if row[0] == account), rows[0])
    if qos:
        keys.append(SiteKey("qos", None, f"quality of service: {qos}", qos.split(",")[0]))
    if most_jobs:
        keys.append(SiteKey("limits", {"submitted_jobs": int(most_jobs)}, f"MaxSubmitJobs of {account}"))
    return keys


def _nodes_option(reservation: str | None, file: Path) -> list[str]:
    """Return the option with which ``sinfo`` shows only the nodes of a reservation."""
    if reservation is None:
        return []
    try:
        shown = ask("scontrol", "show", "reservation", "--oneliner", reservation)
    except InputError as error:
        raise InputError(f"{file}: reservation: {error}") from None
    nodes = re.search(r"(?:^| )Nodes=(\S*)", shown)
    return [f"--nodes={nodes[1]}"] if nodes else []


def _satisfies(features: set[str], constraint: str) -> bool:
    """Whether nodes with these features satisfy a value of ``--constraint``."""
    if re.search(r"[][()*]", constraint):  # only sbatch can judge counts and brackets
        return True
    return any(features.issuperset(every.split("&")) for every in constraint.split("|"))


def _cores(layout: str) -> int:
    """Return the cores of a node from ``sinfo``'s form ``sockets:cores:hardware threads per core``."""
    sockets, cores, _ = map(_least, layout.split(":"))
    return sockets * cores


def _least(text: str) -> int:
    """Return the number in a text of ``sinfo``, which adds + if some nodes have more."""
    return int(text.rstrip("+"))


@functools.cache
def hides_neighbours() -> bool:
    """Whether Slurm hides jobs of others or nodes from a user (``PrivateData``)."""
    private = re.search(r"^PrivateData\s*=\s*(\S+)", ask("scontrol", "show", "config"), re.M)
    hidden = set(private[1].split(",")) if private else set()
    return bool(hidden & {"jobs", "nodes"}) and os.geteuid() != 0


def _explanation(reason: str) -> str:
    """Return an explanation of why a job waits, as the end of a line; empty if there is none."""
    if _PASSING_LIMIT.match(reason):
        return ", a limit of running jobs: the jobs begin as others end"
    if reason.startswith(_UNAVAILABLE_NODES):
        return out_of_service()
    if "held" in reason.lower():
        return ", until scontrol release lets them go"
    if reason.startswith(_LASTING_LIMITS):
        return ", a limit that may never release them"
    return ""


def out_of_service() -> str:
    """Return the nodes that are down or drained, and why, as the end of a line; empty if there are none."""
    try:
        shown = ask("sinfo", "--noheader", "--list-reasons", "--format=%N: %E", patience_seconds=0)
    except InputError:
        return ""
    nodes = shown.splitlines()
    others = f" and {len(nodes) - REASONS_SHOWN} reasons more" if len(nodes) > REASONS_SHOWN else ""
    return f"; out of service: {', '.join(nodes[:REASONS_SHOWN])}{others}" if nodes else ""


def refusal(*options: str) -> str | None:
    """Return the line with which ``sbatch`` would refuse a job; None if it would accept the job."""
    try:
        ask("sbatch", "--test-only", *options, "--wrap=true")
    except InputError as error:
        if _SUBMIT_LIMIT.search(str(error)):
            return None
        return f"{error}{out_of_service()}" if "is not available" in str(error) else str(error)
    return None


def _check_request(
    cluster: Cluster, batch: str, size: Sequence[str], selection: NodeSelection, options: Sequence[str]
) -> None:
    """Raise an `InputError` if ``sbatch`` would refuse a job of this size on these nodes."""
    values = selection._asdict() | {"account": cluster.account, "qos": cluster.qos}
    named = [f"--{name}={value}" for name, value in values.items() if value is not None]
    if reason := refusal(*size, *named, *options):
        raise InputError(f"{cluster.file}: a job for {batch} ({', '.join(size)}): {reason}")


def _timed_options(cluster: Cluster) -> list[str]:
    """Return the options of ``sbatch`` that only jobs with timed runs get."""
    return [*(["--exclusive"] if cluster.exclusive else []), *shlex.split(cluster.extra)]


def _reservation_option(reservation: str | None) -> list[str]:
    """Return the option of ``sbatch`` for a reservation: Snakemake has no resource for it."""
    return [f"--reservation={reservation}"] if reservation else []


# Messages of srun

_COMPLAINT = r"^(?:slurmstepd|srun)(?:-\S+)?: error: (.*)$"


def lost_resource(errors: str) -> str | None:
    """Return the line in which Slurm ends a run for memory, a node or the time limit; None without one."""
    lines: list[str] = re.findall(_COMPLAINT, errors, re.M)
    causes = (line for line in lines if re.search(r"memory|oom|node failure|time limit", line, re.I))
    return next(causes, None)


def complaint(errors: str) -> str | None:
    """Return the line of standard error in which Slurm explains why it ended a run; None without such a line.

    The line of `lost_resource` comes first. Else it is the first line about ranks, unless this line reports
    only an exit status: later ranks are ended because an earlier rank ended.
    """
    if line := lost_resource(errors):
        return line
    lines: list[str] = re.findall(_COMPLAINT, errors, re.M)
    first_of_ranks = next((line for line in lines if re.search(r": tasks? .*: ", line)), "")
    return first_of_ranks if first_of_ranks and ": Exited with" not in first_of_ranks else None


def first_error(errors: str) -> str | None:
    """Return the first error of ``srun`` that is not about ranks: why it started no rank. None if none."""
    lines = re.findall(r"^srun(?:-\S+)?: error: (.*)$", errors, re.M)
    return next((line for line in lines if not re.search(r": tasks? ", line)), None)


def not_started(errors: str) -> str | None:
    """Return the line in which ``srun`` explains why it could not start a step; None without such a line."""
    line = re.search(
        r"^srun: error: (Unable to (?:create step|confirm allocation) for job .*)$", errors, re.M
    )
    return line[1] if line else None


def without_chatter(errors: str) -> str:
    """Return standard error without the lines of Slurm."""
    return re.sub(r"^(?:slurmstepd|srun)(?:-\S+)?: .*\n?", "", errors, flags=re.M)
