"""Hook of MkDocs: links to files of the project that are no pages become plain text on the site."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace a link by its text if its target lies outside the site."""
    folder = posixpath.dirname(page.file.src_uri)

    def replace(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        is_on_site = target.endswith((".md", ".html", ".pdf")) and not target.startswith("../")
        return link[0] if is_on_site else link[1]

    return _LINK.sub(replace, markdown)
