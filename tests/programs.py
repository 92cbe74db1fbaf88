"""Programs that tests run to their end, and scripts that stand in for programs."""

import os
import subprocess
from pathlib import Path

from workflows.paths import ROOT


def ran(*command: str | Path, cwd: Path = ROOT, timeout: float = 60, **environment: str):
    """Run a program to its end and return its outcome; keywords extend the environment of the test."""
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=timeout
    )


def printed(*command: str | Path, **options) -> str:
    """Return the output of a program that must succeed."""
    done = ran(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_program(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)
