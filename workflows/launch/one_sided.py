"""Which of Open MPI's components carried one-sided messages, as the ranks themselves say.

A component prints a line when a window (memory that others may reach into) is closed, at the verbosity of
`osc_base_verbose` that `workflows.launch.launch` sets. Within a node, the components ``rdma`` and ``sm``
(which prints nothing) go through shared memory whatever `btl` says; ``pt2pt`` sends messages through `btl`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from workflows.domain import Interconnect

_CLOSED = re.compile(r"^\[.+\] (\w+) component destroying window with id \d+\n", re.M)
_TELL = {"pt2pt", "rdma"}  # the other components print nothing


def read_windows(scratch: Path) -> tuple[dict[str, int], str]:
    """Read what Open MPI said in the ranks of a run, from the folder of its files.

    Returns
    -------
    dict of str to int
        Windows that were closed, over all ranks, by component.
    str
        Everything else that was said.
    """
    with os.scandir(scratch) as found:
        files = sorted(one.path for one in found if one.name.endswith(".messages") and one.stat().st_size)
    said = "".join(Path(file).read_text(errors="replace") for file in files)
    return dict(Counter(_CLOSED.findall(said))), _CLOSED.sub("", said)


def check_components(
    windows: Mapping[str, int], one_sided: bool, interconnect: Interconnect | None
) -> str | None:
    """Compare the components that carried one-sided messages with what an interconnect asks for.

    Parameters
    ----------
    windows : mapping of str to int
        From `read_windows`.
    one_sided : bool
        Whether the application made one-sided calls.
    interconnect : Interconnect or None
        None for a serial run, of which nothing is asked.

    Returns
    -------
    str or None
        One line for messages that did not go, or are not known to have gone, through the interconnect.
    """
    if interconnect is None:
        return None
    mca = interconnect.launch.get("mca", {})
    asked, carried = mca.get("osc"), ", ".join(sorted(windows))
    if asked and windows.keys() - set(asked.split(",")):
        return f"one-sided messages were carried by {carried}, not by {asked} as the interconnect asks"
    if asked and set(asked.split(",")) <= _TELL and one_sided and not windows:
        return f"nothing tells that {asked} carried the one-sided messages, as the interconnect asks"
    if not asked and one_sided and "vader" not in mca.get("btl", "vader") and windows.keys() != {"pt2pt"}:
        component = carried or "a component that does not tell"
        return (
            f"one-sided messages were carried by {component}, which inside a node goes through shared memory "
            f"and not by btl {mca['btl']}; add osc: pt2pt to the interconnect"
        )
    return None
