"""A folder in which whole studies are run as a user runs them."""

import re
import subprocess
import sys
from pathlib import Path

from programs import ran
from study_files import study_file

from workflows.paths import ROOT

SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))


def planned_rules(printed: str) -> list[str]:
    """Rule of each job that a dry run counts, in order."""
    table = re.search(r"^job +count\n[- ]+\n(.*?)^total ", printed, re.M | re.S)
    counts = [line.split() for line in table[1].splitlines()] if table else []
    return sorted(rule for rule, count in counts if rule != "all" for _ in range(int(count)))


class StudyFolder:
    """A folder in which studies are run with the project's Snakefile, as in a clone of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, text: str) -> Path:
        return study_file(self.folder, text)

    def command(self, study: Path, *options: str) -> list[str]:
        where = ["--directory", str(self.folder), "--snakefile", str(ROOT / "Snakefile")]
        return [SNAKEMAKE, *where, "--configfile", str(study), *options]

    def run(self, study: Path, *options: str) -> subprocess.CompletedProcess:
        return ran(*self.command(study, *options), timeout=600, NO_COLOR="1")

    def run_well(self, study: Path, *options: str) -> subprocess.CompletedProcess:
        """Run a study that must end well."""
        done = self.run(study, *options)
        assert done.returncode == 0, done.stderr
        return done

    def results(self, study: str) -> Path:
        return self.folder / "results" / study
