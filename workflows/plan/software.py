"""Where the programs of a cluster's jobs come from: environment modules and the image that its file names."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.settings.types import DeploymentMethod, DeploymentSettings

from workflows.domain import InputError
from workflows.jobs.cluster import Cluster, read_cluster
from workflows.launch.cluster_launch import IMAGE, ROOT_INSIDE
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
# Inside, these name what is bound as it is called there.
_UNBOUND = ("env", "-u", "APPTAINER_BIND", "-u", "SINGULARITY_BIND")
# Slurm must answer; an MPI library that is not Open MPI cannot be asked, and need not be.
_ANSWERED = "sinfo --noheader >/dev/null && { ompi_info --parsable || true; }"


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
        if cluster.scheduler == "slurm":
            check_slurm(enter, cluster)
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
    shown = _output(["bash", "-c", _LOAD, "bash", *modules], f"{key}: {', '.join(modules)} cannot be loaded")
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
    shown = _output([*enter, "sh", "-c", _LIST], f"{key}: {enter[-1]} cannot be entered")
    return frozenset(shown.splitlines())


def check_slurm(enter: Sequence[str], cluster: Cluster) -> None:
    """Ask whether Slurm answers inside an image, and whether ranks that srun starts there find each other.

    Raises
    ------
    InputError
        One line if they do not.
    """
    closed = f"{cluster.file}: container: in {enter[-1]} Slurm gives no answer"
    of_image = _output([*enter, "sh", "-c", _ANSWERED], closed)
    if cluster.launcher != "srun":
        return
    listed = _output(["sh", "-c", "srun --mpi=list 2>&1"], f"{cluster.file}: mpi_plugin")
    if problem := unheard(cluster.mpi_plugin, listed, of_image):
        raise InputError(f"{cluster.file}: mpi_plugin: {cluster.mpi_plugin}: {problem}")


def unheard(plugin: str, listed: str, of_image: str) -> str | None:
    """Why ranks that srun starts with a plugin would each be alone; None where they find each other, or may.

    From 2.1.1 on, any two versions of PMIx talk to each other (openpmix.github.io, "How does PMIx work with
    containers?"): what matters is that Open MPI has one. What other MPI libraries speak cannot be asked.

    Parameters
    ----------
    plugin : str
        What ``srun --mpi`` is given.
    listed : str
        What ``srun --mpi=list`` prints of Slurm's nodes.
    of_image : str
        What ``ompi_info --parsable`` prints in the image.
    """
    named = re.findall(r"\b(?:none|openmpi|(?:pmi|cray)\w*)\b", listed.partition("are...")[2])
    if plugin not in named:
        return f"this Slurm has {', '.join(dict.fromkeys(named))}"
    components = re.findall(r"^mca:pmix:(\w+):version:\"mca:", of_image, re.M)
    spoken = {"pmi2": "s2", "none": "-"}.get(plugin, r"(ext|pmix)\d\w*")
    if not components or any(re.fullmatch(spoken, component) for component in components):
        return None
    version = re.search(r"^ompi:version:full:(\S+)", of_image, re.M)
    return f"Open MPI {version[1]} of the image does not speak it (it has {', '.join(components)})"


def _output(command: Sequence[str], failed: str) -> str:
    """What a command prints."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS, check=True)
    except FileNotFoundError:
        raise InputError(f"{failed}: there is no {command[0]} here") from None
    except subprocess.CalledProcessError as error:
        said = re.sub(r"\x1b\[\d*m", "", os.fsdecode(error.stderr))
        raise InputError(f"{failed}: {' '.join(said.split())}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{failed}: not done after {LIMIT_SECONDS:g} s") from None
    return os.fsdecode(done.stdout)
