"""State of the machine that a study must leave unchanged."""

from pathlib import Path

import psutil
from programs import printed

from workflows.launch.leftovers import MARK


def left_behind() -> set[str]:
    """Processes of runs, network namespaces, interfaces and scratch files that are there now."""
    leftovers = {f"process {p.pid} {p.name()}" for p in psutil.process_iter() if _is_of_a_run(p)}
    leftovers |= {
        f"namespace {name}" for name in _shown("lsns", "--noheadings", "--output", "NS", "--type", "net")
    }
    leftovers |= {f"interface {line.split(':')[1]}" for line in _shown("ip", "-oneline", "link", "show")}
    for place in ("/dev/shm", "/tmp", "/run/netns"):
        patterns = ("nodeworth-[0-9]*", "ompi.*", "vader_segment*", "osc_rdma*")
        leftovers |= {f"file {file}" for pattern in patterns for file in Path(place).glob(pattern)}
    return leftovers


def _is_of_a_run(process: psutil.Process) -> bool:
    try:
        return MARK in process.environ()
    except psutil.Error:  # gone meanwhile
        return False


def _shown(*command: str) -> list[str]:
    return [line.strip() for line in printed(*command).splitlines()]
