"""Cost of attesting an interconnect, its effect on a run, and the faults that it detects.

    .venv/bin/python tests/benchmarks/attestation.py cost [pairs]
    .venv/bin/python tests/benchmarks/attestation.py effect [pairs]
    .venv/bin/python tests/benchmarks/attestation.py faults [trials [what]]

`cost` starts a program that does nothing but to initialise MPI, with the attester and without it in turn, and prints
the CPU time that it adds (median, 95 % interval by bootstrap), and that of a probe beside the run. `effect` runs
small cases with and without in turn, and prints the ratio of their times. `faults` injects a wrong
label, placement or transport again and again and counts those that are found, and runs that are sound and count.
"""

import itertools
import random
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.applications import application
from workflows.domain import Interconnect, Point
from workflows.launch import attesters
from workflows.launch.emulation import EmulatedNode, emulated_nodes
from workflows.launch.execution import execute
from workflows.launch.launch import launch_ranks
from workflows.measure.attestation import contradiction, probe
from workflows.measure.running import Run, run, scratch_folder
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

ROOT = Path(__file__).resolve().parents[2]
DRAWS = 2000
LIMIT_SECONDS = 120
LINKS = ["shared_memory", "tcp_loopback", "emulated_ten_gigabit", "emulated_gigabit", "shared_memory_mpich"]
CASES = ["elbow_segregated-smoke", "lj_melt-smoke", "barrier-smoke"]

SOUND = [*LINKS, "tcp_loopback_mpich", "emulated_ten_gigabit_mpich"]
OTHER_HOST = ["unshare", "--uts", "sh", "-c", 'echo other >/proc/sys/kernel/hostname; exec "$@"', "sh"]
OTHER_CORE = ["taskset", "-c", "0"]


def link(name: str, **changes: object) -> Interconnect:
    """Give an interconnect of the project, changed."""
    return replace(load_interconnect(name, ROOT / "config/interconnects"), **changes)


def two_ranks(joins: Interconnect) -> Point:
    """Two ranks as far apart as can be."""
    return Point("none", joins.name, 2, 1, nodes=joins.nodes, cores=2)


def interval(values: Sequence[float]) -> str:
    """Median and its 95 % interval."""
    drawn = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(DRAWS))
    return f"{statistics.median(values):.4g} [{drawn[DRAWS // 40]:.4g}, {drawn[-DRAWS // 40]:.4g}]"


def nodes_of(joins: Interconnect):
    """Its emulated nodes while they are needed."""
    return emulated_nodes(joins.emulate) if joins.emulate else nullcontext(())


def cost(pairs: int) -> None:
    """Print the CPU time that attesting adds to a repetition, and that of a probe of its own."""
    for name in LINKS:
        joins = link(name)
        with nodes_of(joins) as nodes:
            added = [
                with_attester - other
                for with_attester, other in in_turn(partial(cpu_ms, joins, nodes), pairs)
            ]
            places = [{"rank": rank, "host": str(rank), "cores": "0"} for rank in (0, 1)]
            before = cpu_seconds(resource.RUSAGE_CHILDREN)
            for _ in range(3):
                probe(two_ranks(joins), joins, nodes, places)
            separate = 1000 * (cpu_seconds(resource.RUSAGE_CHILDREN) - before) / 3
        print(
            f"{name}: {interval(added)} ms of CPU are added; a probe beside it {separate:.0f} ms", flush=True
        )


def cpu_ms(joins: Interconnect, nodes: Sequence[EmulatedNode], attest: bool) -> float:
    """CPU time of a run that does nothing, and of this process for it, ms."""
    before, point = cpu_seconds(resource.RUSAGE_SELF), two_ranks(joins)
    program = attesters.build(joins.launch["mpi"]) / attesters.ALONE
    with scratch_folder() as scratch:
        environment = attesters.environment(point, joins, scratch) if attest else {}
        launch = launch_ranks(point, joins, nodes, [str(program)], environment, scratch)
        done = execute(launch.argv, launch.env, scratch, LIMIT_SECONDS)
        if done.exit_status or attest != bool(attesters.read_probe(scratch, [], [])):
            raise SystemExit(f"{joins.name}: {done.errors or 'not attested'}")
    return 1000 * (done.cpu_seconds + cpu_seconds(resource.RUSAGE_SELF) - before)


def cpu_seconds(of: int) -> float:
    """CPU time of this process, or of the ended ones that it has started."""
    used = resource.getrusage(of)
    return used.ru_utime + used.ru_stime


def in_turn(measure: Callable[[bool], float], pairs: int) -> Iterator[tuple[float, float]]:
    """Measure with and without, in changing order."""
    for number in range(pairs):
        order = (True, False) if number % 2 else (False, True)
        measurements = {attest: measure(attest) for attest in order}
        yield measurements[True], measurements[False]


@contextmanager
def runs_of(name: str, joins: Interconnect) -> Iterator[Callable[..., Run]]:
    """Prepare a case for two ranks on an interconnect; gives what runs it once."""
    case = load_case(name, ROOT / "cases", "case")
    app = application(case.application)
    with tempfile.TemporaryDirectory() as folder, nodes_of(joins) as nodes:
        base, prepared = Path(folder) / "1", Path(folder) / "2"
        for processes, made in ((1, base), (2, prepared)):
            made.mkdir()
            app.prepare(case, processes, made, base if processes > 1 else None)
        point = replace(two_ranks(joins), case=name)

        def run_once(label: Interconnect = joins, prefix: Sequence[str] = (), attest: bool = True) -> Run:
            return run(case, point, prepared, label, nodes, LIMIT_SECONDS, prefix, attest)

        yield run_once


def effect(pairs: int) -> None:
    """Print by how much a run is slower that was attested."""
    for name, joins in itertools.product(CASES, [link("tcp_loopback"), link("shared_memory")]):
        with runs_of(name, joins) as run_once:
            times = in_turn(lambda attest, run_once=run_once: seconds(run_once(attest=attest), attest), pairs)
            ratios = [with_attester / other for with_attester, other in times]
        print(f"{name}, {joins.name}: {interval(ratios)} of the time without", flush=True)


def seconds(done: Run, attest: bool) -> float:
    """Time of a sound run."""
    if done.problem or bool(done.probe) != attest:
        raise SystemExit(f"{done.problem}, {done.probe}")
    return done.reading.seconds


def faults(trials: int, prefix_of_kind: str = "") -> None:
    """Print how many faults of each kind are found and how many sound runs are refused, optionally for named kinds."""
    slow = link("emulated_ten_gigabit")
    slow = replace(slow, emulate=slow.emulate | {"rate_mbps": 1000})
    through_memory = {"mpi": "openmpi", "mca": {"btl": "self,vader"}}
    through_tcp = {"mpi": "openmpi", "mca": {"btl": "self,tcp"}}
    ucx_memory = link("shared_memory_mpich").launch
    kinds = {
        "label: TCP loopback called shared memory": (link("tcp_loopback"), "shared_memory", ()),
        "label: shared memory called TCP loopback": (link("shared_memory"), "tcp_loopback", ()),
        "label: TCP loopback called 10 Gbit/s": (link("tcp_loopback"), "emulated_ten_gigabit", ()),
        "label: 1 Gbit/s called 10 Gbit/s": (slow, "emulated_ten_gigabit", ()),
        "label: 10 Gbit/s called 1 Gbit/s": (link("emulated_ten_gigabit"), "emulated_gigabit", ()),
        "placement: ranks on another core": (link("tcp_loopback"), "tcp_loopback", OTHER_CORE),
        "placement: ranks on another node": (link("tcp_loopback"), "tcp_loopback", OTHER_HOST),
        "placement: both, between nodes": (
            *(link("emulated_gigabit"), "emulated_gigabit"),
            [*OTHER_HOST, *OTHER_CORE],
        ),
        "transport: shared memory for TCP": (
            link("tcp_loopback", launch=through_memory),
            "tcp_loopback",
            (),
        ),
        "transport: TCP for shared memory": (
            link("shared_memory", launch=through_tcp),
            "shared_memory",
            (),
        ),
        "transport: shared memory for TCP, MPICH": (
            link("tcp_loopback_mpich", launch=ucx_memory),
            "tcp_loopback_mpich",
            (),
        ),
    }
    sound = {f"sound: {name}": (link(name), name, ()) for name in SOUND}
    for kind, (joins, called, prefix) in (kinds | sound).items():
        if not kind.startswith(prefix_of_kind):
            continue
        label = replace(joins, attest=link(called).attest)
        with runs_of("barrier-smoke", joins) as run_once:
            refusals = sum(judged(run_once(label, prefix), label) for _ in range(trials))
        print(f"{kind}: {refusals} of {trials} refused", flush=True)


def judged(done: Run, joins: Interconnect) -> bool:
    """Whether a run is refused, and by what it attested itself."""
    if done.problem or done.probe is None:
        raise SystemExit(f"{joins.name}: {done.problem or 'not attested'}")
    return contradiction(done.probe, joins) is not None


if __name__ == "__main__":
    measure_name, *given = sys.argv[1:]
    {"cost": cost, "effect": effect, "faults": faults}[measure_name](int((given or ["20"])[0]), *given[1:])
