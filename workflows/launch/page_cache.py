"""The page cache of the kernel, which holds content of files."""

from __future__ import annotations

import os
from pathlib import Path

SWITCH = Path("/proc/sys/vm/drop_caches")
_PAGES = "1"  # drops pages of files, and no other caches


def cannot_drop() -> str | None:
    """Return why the page cache cannot be dropped here; None if it can."""
    if os.access(SWITCH, os.W_OK):
        return None
    return f"the page cache is dropped before each repetition, which takes root ({SWITCH} cannot be written)"


def drop_page_cache() -> None:
    """Write modified pages to disk, and drop the pages of files.

    Raises
    ------
    OSError
        This user may not drop the page cache.
    """
    os.sync()
    SWITCH.write_text(_PAGES)
