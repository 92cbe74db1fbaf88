"""Where the programs of a cluster's jobs come from: environment modules and the image that its file names."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from snakemake.settings.types import DeploymentMethod, DeploymentSettings

from workflows.domain import InputError
from workflows.jobs.cluster import read_cluster
from workflows.paths import ROOT

LIMIT_SECONDS = 600.0
# Where sh is dash, a job does not inherit the shell function `module`; it does inherit MODULESHOME.
_LOAD = """
{
    type module &>/dev/null || . "$MODULESHOME/init/bash"
    module purge && module load "$@"
} >&2 && exec env --null
"""
_LIST = "IFS=:; for folder in $PATH; do ls -1 $folder; done 2>/dev/null; true"


def software_of_jobs(config: Mapping[str, Any], deployment: DeploymentSettings) -> Callable[[str], object]:
    """Make the software of jobs known where they are planned, as far as Snakemake is to provide it.

    Snakemake enters an image and loads modules only around each script, and goes on without modules that
    cannot be loaded. A plan is made before, and from the programs that are there. So modules are loaded into
    this process, and the programs of an image are listed.

    Parameters
    ----------
    config : mapping
        Snakemake's; ``cluster`` is the path of the cluster file.
    deployment : DeploymentSettings
        Snakemake's; what ``--software-deployment-method`` asks for.

    Returns
    -------
    callable
        Whether jobs have a program, by its name; of a cluster that is elsewhere, all are taken to be there.

    Raises
    ------
    InputError
        If a module cannot be loaded, if there is no such image, or if the cluster file is wrong.
    """
    file, methods = config.get("cluster"), set(deployment.deployment_method)
    if not isinstance(file, str):
        return shutil.which
    cluster = read_cluster(ROOT / file)
    if cluster.is_elsewhere:
        return bool  # of a name
    if cluster.modules and DeploymentMethod.ENV_MODULES in methods:
        loaded = environment_with(cluster.modules, f"{cluster.file}: modules")
        for name in os.environ.keys() - loaded.keys():
            del os.environ[name]
        os.environ.update(loaded)
    if cluster.container and DeploymentMethod.APPTAINER in methods:
        return programs_in(cluster.container, f"{cluster.file}: container").__contains__
    return shutil.which


def environment_with(modules: Sequence[str], key: str) -> dict[str, str]:
    """Give the environment of this process with these modules and no others, and the function ``module``.

    Modules are named as ``module load`` takes them; `key` is where a user did, for messages.

    Raises
    ------
    InputError
        One line if there are no environment modules here, or not these.
    """
    if "MODULESHOME" not in os.environ:
        raise InputError(f"{key}: there are no environment modules here: MODULESHOME is not set")
    shown = _output(["bash", "-c", _LOAD, "bash", *modules], f"{key}: {', '.join(modules)} cannot be loaded")
    return dict(line.split("=", 1) for line in shown.rstrip("\0").split("\0"))


def programs_in(image: str, key: str) -> frozenset[str]:
    """Names of the programs on the ``PATH`` of an image.

    The image is named as ``apptainer exec`` takes it; `key` is where a user did, for messages.

    Raises
    ------
    InputError
        One line if it cannot be entered.
    """
    program = "apptainer" if shutil.which("apptainer") else "singularity"
    shown = _output([program, "exec", image, "sh", "-c", _LIST], f"{key}: {image} cannot be entered")
    return frozenset(shown.splitlines())


def _output(command: Sequence[str], failed: str) -> str:
    """What a command prints."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS, check=True)
    except FileNotFoundError:
        raise InputError(f"{failed}: there is no {command[0]} here") from None
    except subprocess.CalledProcessError as error:
        raise InputError(f"{failed}: {' '.join(os.fsdecode(error.stderr).split())}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{failed}: not done after {LIMIT_SECONDS:g} s") from None
    return os.fsdecode(done.stdout)
