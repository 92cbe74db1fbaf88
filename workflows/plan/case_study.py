"""Make the study for ``./run-study --case PATH``, which times an input of a user on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workflows.domain import InputError
from workflows.inputs import read_yaml
from workflows.paths import RESULTS
from workflows.plan.command_study import counts_and_levels, process_counts
from workflows.study.existing import application_of
from workflows.study.inline import as_name, existing_case


def case_study(
    given: str,
    processes: str | None,
    steps: int | None,
    run_scripts: bool,
    here: Path,
    name: str | None = None,
) -> dict[str, Any]:
    """Make a study that runs an input of the user over the shared memory of this machine.

    Process counts above the number of cores run oversubscribed.

    Parameters
    ----------
    given : str
        Path of the input, as the user typed it in the folder `here`.
    processes : str or None
        Process counts, separated by commas; None for 1, 2, 4, ... up to the cores of this machine.
    steps : int or None
        Number of steps of every run; None for the number in the input.
    run_scripts : bool
        Whether scripts of the input may run.
    here : Path
        Folder in which the user typed the command.
    name : str or None
        Name of the case; None for the name of the folder or file.

    Returns
    -------
    dict
        The study, for `workflows.study.written.write_study`.

    Raises
    ------
    InputError
        The input is missing, an option is wrong, or the folder holds another study: one line.
    """
    case: dict[str, Any] = {"path": given} | ({"steps": steps} if steps else {})
    if run_scripts:
        case["run_scripts"] = True
    if name is not None:
        case["name"] = name
    existing = existing_case(case, here / "study.yaml", f"--case {given}", "--name")
    application_of(existing.path, f"--case {given}")
    case["path"] = str(existing.path)
    study = as_name(existing.name)
    file = RESULTS / study / "study.yaml"
    if file.parent.exists() and _path_in(file) != case["path"]:
        raise InputError(
            f"--case {given}: {file.parent} holds another study; give this case a name with --name"
        )
    return {
        "name": study,
        "title": f"Scaling of {existing.name}",
        "cases": [case],
        "interconnects": ["shared_memory"],
        **counts_and_levels(process_counts(processes)),
    }


def _path_in(file: Path) -> str | None:
    """Return the path of the input in an earlier study file; None if there is no such file or path."""
    if not file.exists():
        return None
    (case, *_) = read_yaml(file).get("cases", [None])
    return case.get("path") if isinstance(case, dict) else None
