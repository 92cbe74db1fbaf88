"""What an MPI library chose to carry messages, by its own account.

Libraries print it while they connect. When a run is attested, workflows/launch/attester/attest.c ends the
outputs of Open MPI that have the verbosity `VERBOSITY`, so that later connections cost no more than without.
UCX prints nothing later.
"""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

from workflows.domain import Interconnect

VERBOSITY = "11"  # of no output that anyone else asks for
_LOG = "transport-*.log"
_TOLD = re.compile(r"^\[[^]]+\] (?:mca|select|btl|mtl)\b.*\n?", re.M)
_OPEN_MPI = re.compile(r"mca: bml: Using (\w+) btl for send to")
_LIBFABRIC = re.compile(r"mtl:ofi:provider: (\S+)")  # the provider's name for its device
_UCX = re.compile(r"ep_cfg\[\d+\]: \w+\(([^)]*)\)")  # transport/device, separated by blanks


def asking(interconnect: Interconnect, scratch: Path) -> dict[str, str]:
    """Environment that makes Open MPI say it in its messages, and UCX in files in the folder `scratch`."""
    asked = {}
    if interconnect.launch["mpi"] == "openmpi":
        asked = {"OMPI_MCA_btl_base_verbose": VERBOSITY, "OMPI_MCA_mtl_base_verbose": VERBOSITY}
    if interconnect.launch["mpi"] == "mpich" or "ucx" in str(interconnect.launch).lower():
        log = scratch / _LOG.replace("*", "%h-%p")
        asked |= {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": str(log)}
    return asked


def chosen(said: str, scratch: Path) -> tuple[list[str], str]:
    """Read what the library chose from what Open MPI said in all ranks, and the folder that `asking` had.

    Returns
    -------
    list of str
        Names as the library has them (``tcp``, ``vader``, ``rc_mlx5/mlx5_0:1``, ``ofi/hfi1_0``), a rank's way
        to itself left out; empty where the library does not say.
    str
        All other messages.
    """
    logs = fnmatch.filter(sorted(os.listdir(scratch)), _LOG)
    ucx = "".join((scratch / name).read_text(errors="replace") for name in logs)
    names = {name for name in _OPEN_MPI.findall(said) if name != "self"}
    names |= {f"ofi/{device}" for device in _LIBFABRIC.findall(said)}
    ways = (lanes.split() for lanes in _UCX.findall(ucx) if "self/" not in lanes)
    names |= {lane for lanes in ways for lane in lanes if "/" in lane}
    return sorted(names), _TOLD.sub("", said)
