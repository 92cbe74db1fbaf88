"""What an MPI library chose to carry the messages of a probe, by its own account.

Asked of probes alone: libraries tell it while they connect, which is no part of what a probe times.
"""

from __future__ import annotations

import re
from pathlib import Path

_LOG = "transport-*.log"
_OPEN_MPI = re.compile(r"mca: bml: Using (\w+) btl for send to")
_LIBFABRIC = re.compile(r"mtl:ofi:provider: (\S+)")  # the provider's name for its device
_UCX = re.compile(r"ep_cfg\[\d+\]: \w+\(([^)]*)\)")  # transport/device, separated by blanks


def asking(scratch: Path) -> dict[str, str]:
    """Environment that makes Open MPI tell in its messages, and UCX in files in the folder `scratch`."""
    return {
        "OMPI_MCA_btl_base_verbose": "10",
        "OMPI_MCA_mtl_base_verbose": "10",
        "UCX_LOG_LEVEL": "info",
        "UCX_LOG_FILE": str(scratch.resolve() / _LOG.replace("*", "%h-%p")),
    }


def chosen(messages: Path, scratch: Path) -> list[str]:
    """Read what was told.

    Parameters
    ----------
    messages : Path
        Folder with a file of each rank, in which Open MPI wrote.
    scratch : Path
        The one that `asking` was given.

    Returns
    -------
    list of str
        Names as the library has them (``tcp``, ``vader``, ``rc_mlx5/mlx5_0:1``, ``ofi/hfi1_0``), a rank's way
        to itself left out; empty where the library does not tell.
    """
    own = "".join(file.read_text(errors="replace") for file in sorted(messages.iterdir()))
    ucx = "".join(file.read_text(errors="replace") for file in sorted(scratch.glob(_LOG)))
    told = {name for name in _OPEN_MPI.findall(own) if name != "self"}
    told |= {f"ofi/{device}" for device in _LIBFABRIC.findall(own)}
    ways = (lanes.split() for lanes in _UCX.findall(ucx) if "self/" not in lanes)
    return sorted(told | {lane for lanes in ways for lane in lanes if "/" in lane})
