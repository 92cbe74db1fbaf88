"""Where the files that other tools wrote are; files/README.md says how each was made."""

from pathlib import Path

FOREIGN = Path(__file__).parent / "files"
