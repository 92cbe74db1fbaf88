"""Files of studies, as a user writes them."""

from pathlib import Path


def study_file(folder: Path, text: str) -> Path:
    """Write a study into the file that has its name."""
    file = folder / f"{text.split('name: ', 1)[1].split()[0]}.yaml"
    file.write_text(text)
    return file
