"""Real runs of network benchmarks, unchanged or with another program."""

from dataclasses import replace

from workflows.applications import application
from workflows.domain import Point
from workflows.measure.running import run
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

mpi4py = application("mpi4py")


def smoke(name):
    return load_case(f"{name}-smoke", CASES)


def measured(
    folder,
    case,
    processes,
    interconnect="tcp_loopback",
    cores=1,
    limit=200.0,
    servers=0,
    threads=1,
    **parameters,
):
    """Run a case; ranks share cores where they are fewer."""
    case = replace(case, parameters=case.parameters | parameters)
    prepared = folder / f"{case.name}-{processes}"
    mpi4py.prepare(case, processes, prepared, None)
    level = processes * (threads + servers) // cores
    point = Point(
        case.name, interconnect, processes, level, 1, cores, servers_per_process=servers, threads=threads
    )
    return run(case, point, prepared, load_interconnect(interconnect, INTERCONNECTS), (), limit)


def with_program(folder, case, text):
    (folder / case.folder.name).mkdir()
    (folder / case.folder.name / case.settings["program"]).write_text(text)
    return replace(case, folder=folder / case.folder.name)
