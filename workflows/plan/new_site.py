"""Write the site file of this cluster: ``./run-study --init``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import yaml

from workflows import inputs
from workflows.domain import InputError
from workflows.jobs import SCHEDULERS
from workflows.jobs.cluster import SITE
from workflows.jobs.scheduler import NODE_KEYS, Scheduler, SiteKey
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.launch.programs import output_of
from workflows.paths import ROOT, SCHEMAS

_HEAD = """\
# yaml-language-server: $schema={schema}
# Written by ./run-study --init. To use a line that begins with #, remove the # and fill in the value.
# All keys: {reference}
"""


def write_site(folder: Path) -> list[str]:
    """Write a site file for this cluster, from the answers of its scheduler, MPI library and module system.

    Parameters
    ----------
    folder : Path
        Working folder of the user. In the project's folder, the file goes into the scheduler's profile
        folder; elsewhere it is ``site.yaml`` in `folder`.

    Returns
    -------
    list of str
        Lines for the user: the file, the keys to fill in, and the command to try.

    Raises
    ------
    InputError
        The file exists, or the scheduler does not answer.
    """
    default = SCHEDULERS[inputs.defaults("cluster")["scheduler"]]
    scheduler = next((candidate for candidate in SCHEDULERS.values() if candidate.is_here), default)
    is_project = folder == ROOT
    file = ROOT / scheduler.folder / SITE.name if is_project else folder / SITE.name
    keys = [] if scheduler is default else [SiteKey("scheduler", scheduler.name, scheduler.title)]
    keys += [*_launch_keys(scheduler), *scheduler.site_keys(), _modules_key()]
    schema, reference = SCHEMAS / "cluster.yaml", ROOT / "docs/reference/cluster.md"
    if is_project:
        schema, reference = (Path(os.path.relpath(path, file.parent)) for path in (schema, reference))
    text = _HEAD.format(schema=schema, reference=reference) + _lines(keys)
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise InputError(f"--init: {file} is there already; remove it first, or edit it") from None
    except OSError as error:
        raise InputError(f"--init: {file}: {error.strerror}") from None
    has_answered = scheduler.is_here and scheduler.describes_nodes
    missing = [] if has_answered else [key.key for key in keys if key.value is None and key.key != "modules"]
    required = [key for key in missing if key in NODE_KEYS]
    optional = [key for key in missing if key not in NODE_KEYS]
    command = "./run-study" if is_project else f"{ROOT}/run-study"
    return [
        f"{file}: written",
        *([f"fill in: {', '.join(required)}"] if required else []),
        *([f"fill in if the cluster needs them: {', '.join(optional)}"] if optional else []),
        f"try: {command} smoke --profile {scheduler.folder} --dry-run",
    ]


def _launch_keys(scheduler: Scheduler) -> list[SiteKey]:
    """Return the key ``launcher``, and ``mpi_plugin`` if ranks start with the scheduler's launcher.

    The scheduler's launcher is chosen if it has a plugin for the MPI library, else the library's launcher.
    """
    libraries = [library for library in MPI_LIBRARIES.values() if not library.missing_programs()]
    library = next(iter(libraries or MPI_LIBRARIES.values()))
    titles = ", ".join(library.title for library in libraries)
    comment = f"MPI here: {titles or 'none, so load its module first'}"
    if scheduler.own_launcher is None:
        return [SiteKey("launcher", library.job_launcher, comment)]
    plugins = scheduler.mpi_plugins() if scheduler.is_here else []
    printed = output_of("sh", "-c", library.pmi_query) if library.pmi_query else ""
    listed = f"srun --mpi=list: {', '.join(plugins)}" if plugins else "srun --mpi=list shows the others"
    for plugin in library.srun_plugins:
        if (plugin in plugins or not scheduler.is_here) and not library.pmi_problem(plugin, printed):
            launcher = SiteKey("launcher", scheduler.own_launcher, comment)
            return [launcher, SiteKey("mpi_plugin", plugin, listed)]
    comment = f"{comment}; no plugin of {scheduler.own_launcher} suits it"
    return [SiteKey("launcher", library.job_launcher, comment)]


def _modules_key() -> SiteKey:
    """Return the key ``modules``: jobs load the environment modules that are loaded now."""
    loaded = list(filter(None, os.environ.get("LOADEDMODULES", "").split(":")))
    if loaded:
        return SiteKey("modules", loaded, "modules of jobs: those loaded now")
    reason = "none is loaded now" if "MODULESHOME" in os.environ else "there is no module system here"
    return SiteKey("modules", None, f"modules of jobs; {reason}", "[openmpi]")


def _lines(keys: Sequence[SiteKey]) -> str:
    """Return the YAML text with one line per key and its comment; a key without value is a comment line."""
    lines = [
        f"# {key.key}: {key.example}" if key.value is None else f"{key.key}: {_as_yaml(key.value)}"
        for key in keys
    ]
    return "".join(f"{line:<36}  # {key.comment}\n" for line, key in zip(lines, keys, strict=True))


def _as_yaml(value: object) -> str:
    """Return a value as one line of YAML."""
    # After a scalar, PyYAML adds a second line with the mark of the document's end.
    return yaml.safe_dump(value, default_flow_style=True, width=1000).splitlines()[0]
