"""A folder in which whole studies are run as a user runs them."""

import os
import subprocess
import sys
from pathlib import Path

from workflows.paths import ROOT

SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))


class StudyFolder:
    """A folder in which studies are run with the project's Snakefile, as in a clone of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self, study: Path, *options: str) -> list[str]:
        where = ["--directory", str(self.folder), "--snakefile", str(ROOT / "Snakefile")]
        return [SNAKEMAKE, *where, "--configfile", str(study), *options]

    def run(self, study: Path, *options: str, timeout: float = 600) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(study, *options),
            cwd=ROOT,
            env=os.environ | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def results(self, study: str) -> Path:
        return self.folder / "results" / study
