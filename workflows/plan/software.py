"""Programs of a cluster's jobs: from environment modules, or from the image named in the site file."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
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

# A job inherits MODULESHOME. If sh is dash, it does not inherit the shell function `module`.
_LOAD = """
{
    type module &>/dev/null || . "$MODULESHOME/init/bash"
    module purge && module load "$@"
} >&2 && exec env --null
"""
_LIST = "IFS=:; for folder in $PATH; do ls -1 $folder; done 2>/dev/null; true"
# These variables bind paths into the image. Inside the image, Apptainer would bind the same paths again.
_UNBOUND = ("env", "-u", "APPTAINER_BIND", "-u", "SINGULARITY_BIND")


def software_of_jobs(
    config: Mapping[str, Any], deployment: DeploymentSettings, is_dry_run: bool = False
) -> Callable[[str], object]:
    """Return a function that looks up whether jobs have a program; load modules or inspect the image first.

    Snakemake loads modules and enters an image only around each script, but the plan needs to know the
    programs earlier. So this function loads the modules into this process, or lists the programs of the
    image. Snakemake ignores modules that cannot be loaded; here such a module is an error. The environment
    variable `IMAGE` receives the command line that enters the image on other nodes.

    Parameters
    ----------
    config : mapping
        Snakemake's config; ``cluster`` is the path of the site file.
    deployment : DeploymentSettings
        Snakemake's settings of ``--software-deployment-method``.
    is_dry_run : bool
        Whether the study is only planned, which needs no modules.

    Returns
    -------
    callable
        Takes the name of a program and returns whether jobs have the program. Two cases are assumed to have
        every program: a cluster that is elsewhere, and a dry run with modules on a machine without a module
        system.

    Raises
    ------
    InputError
        A module cannot be loaded, the image cannot be entered, ranks in the image would not find each other,
        or the site file is wrong.
    """
    file, methods = config.get("cluster"), set(deployment.deployment_method)
    if not isinstance(file, str):
        return shutil.which
    cluster = read_cluster(Path(file))
    if cluster.is_elsewhere:
        return bool  # True for every name
    if cluster.modules and is_dry_run and not os.environ.get("MODULESHOME"):
        where = f"{cluster.file}: modules: there are no environment modules here"
        print(f"{where}: planned as if they could be loaded", file=sys.stderr)
        return bool  # True for every name
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
    """Return the environment variables of a shell with exactly these modules loaded.

    They include the shell function ``module``.

    `modules` are arguments of ``module load``. `key` names the file and the key in messages.

    Raises
    ------
    InputError
        One line if there are no environment modules here, or if one cannot be loaded.
    """
    if not os.environ.get("MODULESHOME"):
        raise InputError(f"{key}: there are no environment modules here: MODULESHOME is not set")
    failure = f"{key}: {', '.join(modules)} cannot be loaded"
    shown = output_of(["bash", "-c", _LOAD, "bash", *modules], failure)
    return dict(line.split("=", 1) for line in shown.rstrip("\0").split("\0"))


def image_command(image: str, options: str) -> list[str]:
    """Return the command line that enters an image as Snakemake does, from any folder.

    `image` is an argument of ``apptainer exec``, `options` the value of ``--apptainer-args``.
    """
    program = shutil.which("apptainer") or shutil.which("singularity") or "apptainer"
    named = str(Path(image).resolve()) if Path(image).exists() else image
    return [program, "exec", "--home", str(Path.cwd()), *shlex.split(options), named]


def programs_in(enter: Sequence[str], key: str) -> frozenset[str]:
    """Return the names of the programs on the ``PATH`` of an image.

    `enter` is the command line that enters the image. `key` names the file and the key in messages.

    Raises
    ------
    InputError
        One line if the image cannot be entered.
    """
    shown = output_of([*enter, "sh", "-c", _LIST], f"{key}: {enter[-1]} cannot be entered")
    return frozenset(shown.splitlines())


def check_plugin(enter: Sequence[str], cluster: Cluster) -> None:
    """Ask the MPI libraries in an image whether ranks find each other with ``mpi_plugin`` of a site file.

    Raises
    ------
    InputError
        One line if the ranks do not find each other.
    """
    key = f"{cluster.file}: mpi_plugin: {cluster.mpi_plugin}"
    for library in MPI_LIBRARIES.values():
        if library.pmi_query:
            # Some libraries exit with an error even if they print the list, so the status is ignored.
            printed = output_of([*enter, "sh", "-c", f"{library.pmi_query} || true"], key)
            if problem := library.pmi_problem(cluster.mpi_plugin, printed):
                raise InputError(f"{key}: {problem}")
