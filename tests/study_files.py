"""Files of studies and cases, as a user writes them."""

from pathlib import Path


def study_file(folder: Path, text: str) -> Path:
    """Write a study into the file that has its name."""
    file = folder / f"{text.split('name: ', 1)[1].split()[0]}.yaml"
    file.write_text(text)
    return file


def timed_case(folder: Path, name: str, program: str, serial_seconds: float = 0.01) -> None:
    """Write a case of a program that prints how many seconds it took, into a folder of cases."""
    file = folder / "command" / name / "case.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"""
application: command
title: {name.capitalize()}
description: A program of the tests.
stands_for: Nothing.
size: none
sizes: {{none: {{parameters: {{}}, serial_seconds: {serial_seconds}, memory_MB: 1}}}}
settings: {{program: [{program}], read: {{seconds: 'took (\\S+) s'}}}}
"""
    )
