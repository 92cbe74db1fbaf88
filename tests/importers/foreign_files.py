"""Files that other tools wrote; files/README.md describes each."""

from pathlib import Path

FOREIGN = Path(__file__).parent / "files"


def format_of(file):
    """The format that a user must state, for a file of numbers without a heading."""
    return "netpipe" if Path(file).parent.name == "netpipe" else None
