"""Write docs/gallery/: report and PDF of four studies, run again.

    .venv/bin/python docs/make_gallery.py [STUDY ...]

The study `laptop` takes about ten minutes and needs a machine that does nothing else.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/gallery"
STUDIES = ("laptop", "published_channel", "published_clouds", "published_prices")


def make(study: str) -> None:
    """Run a study in an empty folder, and keep its report in both forms."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "run-study", study], cwd=folder, check=True)
        for form in ("html", "pdf"):
            shutil.copy(Path(folder, "results", study, f"report.{form}"), FOLDER / f"{study}.{form}")


def main(studies: list[str]) -> None:
    """Make the reports of some studies, or of all."""
    FOLDER.mkdir(exist_ok=True)
    for study in studies or STUDIES:
        make(study)


if __name__ == "__main__":
    main(sys.argv[1:])
