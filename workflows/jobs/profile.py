"""The ``config`` of Snakemake's profiles, which an option ``--config`` replaces as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from workflows.errors import InputError
from workflows.inputs import read_yaml
from workflows.paths import ROOT


def missing_config(profiles: Sequence[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys and values of the profiles' ``config`` that the configuration lacks.

    Parameters
    ----------
    profiles : sequence of str
        Folders of profiles: paths, or paths below the project's folder.
    config : mapping
        Configuration that Snakemake uses.
    """
    missing: dict[str, Any] = {}
    for profile in profiles:
        files = [folder / profile / "config.yaml" for folder in (Path(), ROOT)]
        file = next((file for file in files if file.exists()), None)
        missing |= read_yaml(file).get("config", {}) if file else {}
    return {key: value for key, value in missing.items() if key not in config}


def check_profiles(words: Sequence[str], config: Mapping[str, Any]) -> None:
    """Check that ``--config`` has not removed the ``config`` of a profile on the command line `words`.

    Raises
    ------
    InputError
        One line with the words to add.
    """
    profiles = [word for option, word in pairwise(words) if option == "--profile"]
    profiles += [word.removeprefix("--profile=") for word in words if word.startswith("--profile=")]
    if missing := missing_config(profiles, config):
        added = " ".join(f"{key}={value}" for key, value in missing.items())
        raise InputError(f"--config: it replaces the config of the profile; add {added} after --config")
