"""The site of the documentation."""

import re
import sys

from programs import printed

from workflows.paths import ROOT


def test_the_site_is_complete_and_needs_no_other_host(tmp_path):
    """A strict build fails for a dead link, a missing anchor, and a page that the menu lacks."""
    printed(sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path, cwd=ROOT)
    pages = list(tmp_path.rglob("*.html"))
    assert tmp_path / "index.html" in pages and tmp_path / "search/search_index.js" in tmp_path.rglob("*.js")
    for page in pages:
        assert (
            re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?(https?://[^">\s]+)', page.read_text()) == []
        ), page
