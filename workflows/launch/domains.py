"""Whether ranks can be packed or spread inside a node: asks the program ``domains`` beside this file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

PROGRAM = Path(__file__).with_suffix("")
CPUS = Path("/sys/devices/system/cpu")


def dealt(placement: str, slot: int, each: int, cores: Iterable[int], cpus: Path = CPUS) -> tuple[str, str]:
    """Choose the cores of a rank: see the program.

    Returns
    -------
    str, str
        Its cores, separated by commas, and the domain of each core of the node: ``0=0 1=0 2=1``.

    Raises
    ------
    ValueError
        They cannot be chosen: one line that says why.
    """
    words = [PROGRAM, cpus, placement, slot, each, *cores]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    own, domains = done.stdout.splitlines()
    return own, domains


def cannot_place(placement: str, cores: Iterable[int], cpus: Path = CPUS) -> str | None:
    """Why ranks cannot be packed or spread on these cores, in one line; None where they can."""
    try:
        dealt(placement, 0, 1, cores, cpus)
    except ValueError as why:
        return str(why)
    return None
