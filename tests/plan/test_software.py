"""The software of jobs: environment modules, real ones, and an image, whose Apptainer is a stand-in."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from needs import need
from programs import ran, write_program
from refused import refusal
from snakemake.settings.types import DeploymentMethod, DeploymentSettings

from workflows.domain import InputError
from workflows.jobs.cluster import read_cluster
from workflows.launch.cluster_launch import IMAGE, entering
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.paths import ROOT
from workflows.plan.software import (
    environment_with,
    image_command,
    programs_in,
    software_of_jobs,
)

HOME = "/usr/share/modules"  # where Debian's environment-modules are
LOAD = """
import os, subprocess, sys
from snakemake.settings.types import DeploymentMethod, DeploymentSettings
from workflows.plan.software import software_of_jobs
asked = DeploymentSettings({DeploymentMethod[name] for name in sys.argv[2:]})
has = software_of_jobs({"cluster": sys.argv[1]}, asked)
print(has("solver_of_site"), os.environ.get("AT_LOGIN"), os.environ.get("LOADEDMODULES"))
subprocess.run(["bash", "-c", "module list -t"], check=True)
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site with modules `solver/1`, `solver/2` and `login`, and its site file, in a job's environment."""
    need("modulecmd")
    for version in "12":
        program = tmp_path / f"solver-{version}/solver_of_site"
        program.parent.mkdir()
        write_program(program, "#!/bin/sh\n")
        module = tmp_path / f"modulefiles/solver/{version}"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(f"#%Module\nprepend-path PATH {program.parent}\nsetenv SOLVER {version}\n")
    (tmp_path / "modulefiles/login").write_text("#%Module\nsetenv AT_LOGIN yes\n")
    (tmp_path / "site.yaml").write_text("modules: [solver/1]\n")
    for name in [name for name in os.environ if name.startswith("BASH_FUNC_") or "MODULE" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("MODULESHOME", HOME)
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modulefiles"))
    return tmp_path / "site.yaml"


def load(site: Path, *methods: str, env: dict[str, str] | None = None) -> str:
    """Load the modules of a site file in a process; give what it sees."""
    done = ran(sys.executable, "-c", LOAD, str(site), *methods, **(env or {}))
    return done.stdout + done.stderr


def test_programs_of_modules_are_found_and_bash_has_the_function(site):
    program = site.parent / "solver-1/solver_of_site"
    output = load(site, "ENV_MODULES")
    assert f"{program} None solver/1" in output and "\nsolver/1\n" in output, output


def test_modules_that_were_loaded_before_are_gone(site):
    before = environment_with(["login", "solver/2"], "here")
    assert before["AT_LOGIN"] == "yes" and before["SOLVER"] == "2"
    output = load(site, "ENV_MODULES", env=before)
    assert f"{site.parent}/solver-1/solver_of_site None solver/1" in output, output


@pytest.mark.parametrize("methods", [(), ("CONDA",)])
def test_nothing_is_loaded_unless_snakemake_uses_modules(site, methods):
    assert load(site, *methods).startswith("None None None")


def test_loaded_modules_stay_if_the_cluster_file_names_none(site):
    site.write_text("minutes: 9\n")
    output = load(site, "ENV_MODULES", env=environment_with(["login"], "here"))
    assert output.startswith("None yes login\n"), output


def test_a_module_that_is_not_there(site):
    message = refusal(InputError, environment_with, ["solver", "fluent"], "here")
    assert message.startswith("here: solver, fluent cannot be loaded: ") and message.endswith("'fluent'")


def test_no_modules_at_all(site, monkeypatch):
    monkeypatch.delenv("MODULESHOME")
    with pytest.raises(InputError, match=r"^here: there are no environment modules here: MODULESHOME"):
        environment_with(["solver"], "here")


APPTAINER = """#!/bin/sh
while [ "$1" != --userns ]; do shift; done
[ "$2" = solvers.sif ] || { echo "FATAL: could not open image $2" >&2; exit 255; }
shift 2
PATH=$IMAGE exec "$@"
"""


@pytest.fixture
def image(tmp_path, monkeypatch):
    """An image that has two programs, and its site file."""
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin/apptainer", APPTAINER)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_of_image").touch()
    for program in ("sh", "ls"):
        (tmp_path / "first" / program).symlink_to(shutil.which(program))
    write_program(tmp_path / "first/sinfo", "#!/bin/sh\n")
    monkeypatch.setenv("IMAGE", f"{tmp_path}/first:{tmp_path}/nowhere:{tmp_path}/second")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv(IMAGE, "")  # is put back
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    (tmp_path / "site.yaml").write_text("container: solvers.sif\nlauncher: mpirun\n")
    return tmp_path / "site.yaml"


def test_programs_of_an_image_are_on_its_path(image):
    programs = programs_in(image_command("solvers.sif", " --userns"), "here")
    assert programs == {"first_of_image", "second_of_image", "sh", "ls", "sinfo"}


def test_programs_of_jobs_are_looked_for_in_the_image(image):
    deployment = DeploymentSettings({DeploymentMethod.APPTAINER}, apptainer_args=" --userns")
    has_program = software_of_jobs({"cluster": str(image)}, deployment)
    assert has_program("second_of_image") and not has_program("python3")
    here = software_of_jobs({"cluster": str(image)}, DeploymentSettings())
    assert here("python3") and not here("second_of_image")


def test_an_image_that_is_not_there(image):
    message = refusal(InputError, programs_in, image_command("no.sif", "--userns"), "here")
    assert message == "here: no.sif cannot be entered: FATAL: could not open image no.sif"


def test_ranks_enter_the_image_as_scripts_do(image, monkeypatch):
    monkeypatch.setenv("APPTAINER_BIND", "/a")
    software_of_jobs(
        {"cluster": str(image)}, DeploymentSettings({DeploymentMethod.APPTAINER}, apptainer_args="--userns")
    )
    apptainer, home = str(image.parent / "bin/apptainer"), ["--home", str(Path.cwd())]
    command = [apptainer, "exec", "--bind", f"{ROOT}:{ROOT},/a", *home, "--userns", "solvers.sif"]
    assert entering()[-len(command) :] == command


def test_an_image_in_which_slurm_gives_no_answer(image):
    write_program(image.parent / "first/sinfo", "#!/bin/sh\necho 'no configuration source' >&2; exit 1\n")
    cluster = read_cluster(image)
    message = refusal(
        InputError, cluster.scheduler.check_image, image_command("solvers.sif", "--userns"), cluster
    )
    assert message == f"{image}: container: in solvers.sif Slurm gives no answer: no configuration source"


LISTED = """MPI plugin types are...
\tpmix
\tnone
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
OF_DEBIAN = """ompi:version:full:4.1.4
mca:pmix:ext3x:version:"mca:2.1.0"
mca:pmix:ext3x:version:"api:2.0.0"
mca:pmix:isolated:version:"mca:2.1.0"
"""


@pytest.mark.parametrize(
    ("plugin", "of_image", "problem"),
    [
        ("pmix", OF_DEBIAN, None),
        ("pmix_v4", OF_DEBIAN, None),
        ("pmi2", OF_DEBIAN, "Open MPI 4.1.4 of the image does not speak it (it has ext3x, isolated)"),
        ("pmi2", OF_DEBIAN.replace("ext3x", "s2"), None),
        ("pmix", OF_DEBIAN.replace("ext3x", "s2"), "Open MPI 4.1.4 of the image does not speak it (it has s2, isolated)"),
        ("pmi2", "", None),  # no Open MPI
    ],
)  # fmt: skip
def test_pmi_versions_of_the_mpi_of_an_image(plugin, of_image, problem):
    assert MPI_LIBRARIES["openmpi"].pmi_problem(plugin, of_image) == problem


def test_a_plugin_that_slurm_does_not_have(image):
    write_program(image.parent / "bin/srun", f"#!/bin/sh\ncat >&2 <<'END'\n{LISTED}END\n")
    image.write_text("container: solvers.sif\nmpi_plugin: pmix_v3\n")
    cluster = read_cluster(image)
    enter = image_command("solvers.sif", "--userns")
    message = refusal(InputError, cluster.scheduler.check_image, enter, cluster)
    assert message == f"{image}: mpi_plugin: pmix_v3: this Slurm has pmix, none, pmi2, pmix_v4"


def test_no_apptainer(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be entered: there is no apptainer here$"):
        programs_in(image_command("solvers.sif", ""), "here")


def test_a_dry_run_needs_no_module_system(site, monkeypatch, capsys):
    monkeypatch.delenv("MODULESHOME")
    deployment = {"cluster": str(site)}, DeploymentSettings({DeploymentMethod.ENV_MODULES})
    assert software_of_jobs(*deployment, is_dry_run=True)("solver_of_site")
    assert "modules: there are no environment modules here: planned as if" in capsys.readouterr().err
    assert "MODULESHOME is not set" in refusal(InputError, software_of_jobs, *deployment)
