"""The kernel's page cache, which holds what files were read and what is still to be written."""

from __future__ import annotations

import os
from pathlib import Path

SWITCH = Path("/proc/sys/vm/drop_caches")
_PAGES = "1"  # what files left in memory, and no other caches


def cannot_drop() -> str | None:
    """Why the page cache cannot be dropped here, in one line; None where it can."""
    if os.access(SWITCH, os.W_OK):
        return None
    return f"the page cache is dropped before each repetition, which takes root ({SWITCH} cannot be written)"


def drop_page_cache() -> None:
    """Write what waits to be written, and forget what files left in memory.

    Raises
    ------
    OSError
        Without the right to.
    """
    os.sync()
    SWITCH.write_text(_PAGES)
