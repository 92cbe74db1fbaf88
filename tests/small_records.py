"""A record of a repetition, of this version or of an earlier one, for tests."""

from dataclasses import replace
from typing import Any

from workflows.launch.attesters import Probe
from workflows.plan.record import ClusterJob, Exit, GivenAnswer, Record, RunNoise, Times

RECORD = Record(
    study="small",
    case="duct",
    application="openfoam",
    interconnect="gigabit",
    kind="measured",
    nodes=2,
    processes=4,
    servers=4,
    cores=4,
    processes_per_node=2,
    oversubscription=2,
    block=3,
    companions={"gigabit": "b", "shared_memory": "c"},
    repetition=1,
    attempt=1,
    started="2026-01-01T12:00:00.000+00:00",
    mpi="mpirun (Open MPI) 4.1.4",
    mpi_library="/usr/lib/libmpi.so.40.30.4",
    machine={"host": "n1", "node_type": None, "cpu": "A CPU", "cores": 4, "memory_GB": 16.5, "kernel": "6.1"},
    inputs={"case": "a", "interconnect": "b", "cluster": "d"},
    cluster=ClusterJob("7", "RUNNING", "n[1-2]", "all", 0, "srun", True),
    seconds=1.5,
    valid=True,
    times=Times(0.5, 0.25, 2.5, 9.5),
    answer=GivenAnswer("pressure_drop", "Pa", 3.0, 3.0, "golden", 1e-6, 0.0),
    noise=RunNoise(0.125, None, 0.0, 0.25, 0.0),
    exit=Exit(0, None, False, 60, ""),
    placement=[{"rank": 0, "host": "n1", "process": 11, "local_rank": 0, "cores": "0-1"}],
    command=["mpirun", "-n", "4", "solve"],
    environment={"OMP_NUM_THREADS": "1"},
    version="1912",
    one_sided_windows={"pt2pt": 2},
    probe=Probe(
        way="in the run",
        ranks=[0, 1],
        hosts=["n1", "n2"],
        cores=["0", "0"],
        transports=["tcp"],
        library="Open MPI v4.1.4",
        seconds=0.01,
        attempts=1,
        latency_us=5.5,
        bandwidth_MBps=117.5,
    ),
    details={"loop_seconds": {"solve": 1.25}},
)


KNOWN_BEFORE = {
    name: getattr(RECORD, name)
    for name in ("study", "application", "kind", "block", "repetition", "attempt", "started", "inputs")
}
"""Keys of a record other than those of its point."""


def record(**changes: Any) -> Record:
    """Give a record with something else in it."""
    return replace(RECORD, **changes)
