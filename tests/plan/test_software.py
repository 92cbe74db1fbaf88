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
from workflows.plan.software import environment_with, programs_in, software_of_jobs

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
    """A site with modules `solver/1`, `solver/2` and `login`, and its cluster file, in a job's environment."""
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
    monkeypatch.setenv("MODULESHOME", HOME)
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modulefiles"))
    return tmp_path / "site.yaml"


def load(site: Path, *methods: str, env: dict[str, str] | None = None) -> str:
    """Load the modules of a cluster file in a process; give what it sees."""
    done = ran(sys.executable, "-c", LOAD, str(site), *methods, **(env or {}))
    return done.stdout + done.stderr


def test_programs_of_modules_are_found_and_bash_has_the_function(site):
    program = site.parent / "solver-1/solver_of_site"
    said = load(site, "ENV_MODULES")
    assert f"{program} None solver/1" in said and "\nsolver/1\n" in said, said


def test_modules_that_were_loaded_before_are_gone(site):
    before = environment_with(["login", "solver/2"], "here")
    assert before["AT_LOGIN"] == "yes" and before["SOLVER"] == "2"
    said = load(site, "ENV_MODULES", env=before)
    assert f"{site.parent}/solver-1/solver_of_site None solver/1" in said, said


@pytest.mark.parametrize("methods", [(), ("CONDA",)])
def test_nothing_is_loaded_unless_snakemake_uses_modules(site, methods):
    assert load(site, *methods).startswith("None None None")


def test_what_is_loaded_stays_where_the_cluster_file_names_no_modules(site):
    site.write_text("minutes: 9\n")
    said = load(site, "ENV_MODULES", env=environment_with(["login"], "here"))
    assert said.startswith("None yes login\n"), said


def test_a_module_that_is_not_there(site):
    told = refusal(InputError, environment_with, ["solver", "fluent"], "here")
    assert told.startswith("here: solver, fluent cannot be loaded: ") and told.endswith("'fluent'")


def test_no_modules_at_all(site, monkeypatch):
    monkeypatch.delenv("MODULESHOME")
    with pytest.raises(InputError, match=r"^here: there are no environment modules here: MODULESHOME"):
        environment_with(["solver"], "here")


APPTAINER = """#!/bin/sh
[ "$1 $2" = "exec solvers.sif" ] || { echo "FATAL: could not open image $2" >&2; exit 255; }
shift 2
PATH=$IMAGE exec "$@"
"""


@pytest.fixture
def image(tmp_path, monkeypatch):
    """An image that has two programs, and its cluster file."""
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin/apptainer", APPTAINER)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_of_image").touch()
    for program in ("sh", "ls"):
        (tmp_path / "first" / program).symlink_to(shutil.which(program))
    monkeypatch.setenv("IMAGE", f"{tmp_path}/first:{tmp_path}/nowhere:{tmp_path}/second")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "site.yaml").write_text("container: solvers.sif\n")
    return tmp_path / "site.yaml"


def test_programs_of_an_image_are_those_on_its_path(image):
    assert programs_in("solvers.sif", "here") == {"first_of_image", "second_of_image", "sh", "ls"}


def test_what_jobs_have_is_in_the_image_and_not_here(image):
    asked = DeploymentSettings({DeploymentMethod.APPTAINER})
    has_program = software_of_jobs({"cluster": str(image)}, asked)
    assert has_program("second_of_image") and not has_program("python3")
    here = software_of_jobs({"cluster": str(image)}, DeploymentSettings())
    assert here("python3") and not here("second_of_image")


def test_an_image_that_is_not_there(image):
    told = refusal(InputError, programs_in, "no.sif", "here")
    assert told == "here: no.sif cannot be entered: FATAL: could not open image no.sif"


def test_no_apptainer(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be entered: there is no singularity here$"):
        programs_in("solvers.sif", "here")
