"""Where the programs of a cluster's jobs come from: environment modules and the image that its file names."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.settings.types import DeploymentMethod, DeploymentSettings

from workflows.domain import InputError
from workflows.jobs.cluster import Cluster, read_cluster
from workflows.jobs.scheduler import output_of
from workflows.launch.cluster_launch import IMAGE, ROOT_INSIDE
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.paths import ROOT

# Where sh is dash, a job does not inherit the shell function `module`; it does inherit MODULESHOME.
_LOAD = """
{
    type module &>/dev/null || . "$MODULESHOME/init/bash"
    module purge && module load "$@"
} >&2 && exec env --null
"""
_LIST = "IFS=:; for folder in $PATH; do ls -1 $folder; done 2>/dev/null; true"
# Inside, these name what is bound as it is called there.
_UNBOUND = ("env", "-u", "APPTAINER_BIND", "-u", "SINGULARITY_BIND")


def software_of_jobs(config: Mapping[str, Any], deployment: DeploymentSettings) -> Callable[[str], object]:
    """Make the software of jobs known where they are planned, as far as Snakemake is to provide it.

    Snakemake enters an image and loads modules only around each script, and goes on without modules that
    cannot be loaded. A plan is made before, and from the programs that are there. So modules are loaded into
    this process, and the programs of an image are listed. What enters it on other nodes is left in `IMAGE`.

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
        If a module cannot be loaded, if there is no such image, if ranks in it would not find each other, or
        if the cluster file is wrong.
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
        enter = image_command(cluster.container, deployment.apptainer_args)
        programs = programs_in(enter, f"{cluster.file}: container")
        cluster.scheduler.check_image(enter, cluster)
        if cluster.launcher == cluster.scheduler.own_launcher:
            check_plugin(enter, cluster)
        path = f"PATH={os.environ.get('PATH', os.defpath)}"  # where Apptainer finds its own programs
        bound = [f"{ROOT}:{ROOT_INSIDE}", *filter(None, [os.environ.get("APPTAINER_BIND")])]
        os.environ[IMAGE] = shlex.join([*_UNBOUND, path, *enter[:2], "--bind", ",".join(bound), *enter[2:]])
        return programs.__contains__
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
    failure = f"{key}: {', '.join(modules)} cannot be loaded"
    shown = output_of(["bash", "-c", _LOAD, "bash", *modules], failure)
    return dict(line.split("=", 1) for line in shown.rstrip("\0").split("\0"))


def image_command(image: str, options: str) -> list[str]:
    """Command line that enters an image as Snakemake does, from any folder.

    The image is named as ``apptainer exec`` takes it, `options` are those of ``--apptainer-args``.
    """
    program = shutil.which("apptainer") or shutil.which("singularity") or "apptainer"
    named = str(Path(image).resolve()) if Path(image).exists() else image
    return [program, "exec", "--home", str(Path.cwd()), *shlex.split(options), named]


def programs_in(enter: Sequence[str], key: str) -> frozenset[str]:
    """Names of the programs on the ``PATH`` of an image.

    `enter` is the command line that enters it; `key` is where a user named it, for messages.

    Raises
    ------
    InputError
        One line if it cannot be entered.
    """
    shown = output_of([*enter, "sh", "-c", _LIST], f"{key}: {enter[-1]} cannot be entered")
    return frozenset(shown.splitlines())


def check_plugin(enter: Sequence[str], cluster: Cluster) -> None:
    """Ask the MPI libraries in an image whether ranks find each other with ``mpi_plugin`` of a cluster file.

    Raises
    ------
    InputError
        One line if they do not.
    """
    key = f"{cluster.file}: mpi_plugin: {cluster.mpi_plugin}"
    for library in MPI_LIBRARIES.values():
        if library.pmi_query:
            printed = output_of([*enter, "sh", "-c", f"{library.pmi_query} || true"], key)
            if problem := library.pmi_problem(cluster.mpi_plugin, printed):
                raise InputError(f"{key}: {problem}")
