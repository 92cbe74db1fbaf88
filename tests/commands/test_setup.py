"""Packages that envs/setup.sh installs, asks for and refuses, on machines that are a folder of programs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import write_program

from workflows.paths import ROOT

TOOLS = "bash cat chmod cp env grep id mkdir mv rm sed sha256sum sort tail touch true".split()
LIST = "solve  solver  a case\ncarve  carver  another\nmpicc.openmpi:mpi.h  libopenmpi-dev  tracing\n"
APT = """\
case "$*" in
*update*) exit 0 ;;
*install*) ;;
esac
echo "Reading package lists..."
status=0
for word; do
    case $word in
    solver) [ -e "$PROGRAMS/../nowhere" ] && { echo "E: Unable to locate package solver"; exit 100; }
            made=solve ;;
    carver) made=carve ;;
    libopenmpi-dev) touch "$PROGRAMS/../mpi.h"; continue ;;
    *) continue ;;
    esac
    wanted="$wanted $made"
done
for made in $wanted; do echo > "$PROGRAMS/$made"; chmod +x "$PROGRAMS/$made"; done
"""
COMPILER = """\
[ -e "$PROGRAMS/../mpi.h" ] || { echo "<stdin>:1:10: fatal error: mpi.h: No such file" >&2; exit 1; }
while [ "$1" != -o ]; do shift; done
echo > "$2"
"""


ONLY_THESE = "PATH=$PROGRAMS system_python=system-python"


class Machine:
    """A clone of the set-up and the only programs that it finds."""

    def __init__(self, folder: Path) -> None:
        self.clone, self.programs = folder / "clone", folder / "bin"
        self.programs.mkdir(parents=True)
        for tool in TOOLS:
            (self.programs / tool).symlink_to(shutil.which(tool))
        (self.clone / ".venv/bin").mkdir(parents=True)
        self.add("../clone/.venv/bin/python", "exit 0")
        (self.clone / "envs").mkdir()
        shutil.copy(ROOT / "envs/setup.sh", self.clone / "envs")
        (self.clone / "envs/programs.txt").write_text(LIST)

    def add(self, program: str, script: str) -> None:
        (self.programs / program).unlink(missing_ok=True)
        write_program(self.programs / program, f"#!/bin/bash\n{script}\n")

    def set_up(self, **environment: str) -> str:
        """Output of the script, without the Python environment."""
        script = f". envs/setup.sh && need_python() {{ :; }} && {ONLY_THESE} && set_up"
        return self.shell(script, **environment).stderr

    def shell(self, script: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [shutil.which("bash"), "-c", script],
            cwd=self.clone,
            env={"PATH": str(self.programs), "PROGRAMS": str(self.programs), "HOME": "/"} | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def debian(tmp_path) -> Machine:
    machine = Machine(tmp_path)
    machine.add("apt-get", APT)
    machine.add("id", "echo 0")
    machine.add("mpicc.openmpi", COMPILER)
    return machine


def test_a_compiler_without_its_header_is_missing_its_package(debian):
    """As where openmpi-bin is there, which brings the compiler, and libopenmpi-dev is not."""
    installing = "Installing as root: apt-get install --no-install-recommends carver libopenmpi-dev solver"
    assert debian.set_up().startswith(installing)
    assert debian.set_up() == ""


def test_a_compiler_that_makes_nothing_is_named_with_its_error(debian):
    debian.add("mpicc.openmpi", 'echo "ld: error: no libc" >&2; exit 1')
    assert "mpicc.openmpi cannot build an MPI program: ld: error: no libc" in debian.set_up()


def test_the_compiler_is_tried_again_when_it_has_changed(debian):
    debian.set_up()
    debian.add("mpicc.openmpi", "exit 1")
    assert "libopenmpi-dev" in debian.set_up()


def test_output_of_apt_is_in_a_file(debian):
    assert "Reading" not in debian.set_up()
    assert "Reading package lists" in (debian.clone / ".cache/apt.log").read_text()


def test_one_package_that_cannot_be_had_is_named_and_the_others_are_installed(debian):
    (debian.programs.parent / "nowhere").touch()
    output = debian.set_up()
    assert "solver cannot be installed: E: Unable to locate package solver\n" in output
    assert "The messages of apt-get are in .cache/apt.log." in output
    assert (debian.programs / "carve").exists() and not (debian.programs / "solve").exists()


@pytest.mark.parametrize("sudo", [None, "exit 1"])
def test_without_root_one_message_names_all_that_is_missing(debian, sudo):
    debian.add("id", "echo 1000")
    if sudo:
        debian.add("sudo", sudo)
    shutil.rmtree(debian.clone / ".venv")
    debian.add("python3", "exit 1")  # has no ensurepip
    packages = "carver libopenmpi-dev python3-venv solver"
    command = f"sudo apt-get install --no-install-recommends {packages}"
    message = f"These packages are missing. Ask an administrator for: {command}\n"
    assert debian.set_up() == message


def test_python_itself_is_asked_for(debian):
    shutil.rmtree(debian.clone / ".venv")
    assert "carver libopenmpi-dev python3-venv solver" in debian.set_up()


@pytest.mark.parametrize(
    ("status_of_python", "taken"),
    [
        ({"system-python": 0, "python3.11": 0}, "system-python"),
        ({"system-python": 1, "python3.11": 1, "python3.13": 0, "python3": 0}, "python3.13"),
    ],
)
def test_the_systems_own_python_is_taken_where_it_fits(debian, status_of_python, taken):
    for python, status in status_of_python.items():
        debian.add(python, f"exit {status}")
    path = debian.shell(f". envs/setup.sh && {ONLY_THESE} && find_python").stdout
    assert path == f"{debian.programs}/{taken}\n"


def test_elsewhere_than_on_debian_one_mpi_library_needs_no_suffix(debian):
    (debian.programs / "apt-get").unlink()
    (debian.programs / "mpicc.openmpi").rename(debian.programs / "mpicc")
    (debian.programs.parent / "mpi.h").touch()
    output = debian.set_up()
    assert output.startswith(
        "This is not Debian. Install the equivalent of these Debian packages: carver solver\n"
    )


@pytest.mark.parametrize("name", ["my studies", "a:b", "it's", "$HOME", "a&b"])
def test_a_folder_that_shells_take_apart_is_refused_in_one_line(tmp_path, name):
    machine = Machine(tmp_path / name)
    done = machine.shell(". envs/setup.sh && echo went on")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and str(machine.clone) in done.stderr


@pytest.mark.parametrize("command", ["run-study", "run-tests"])
def test_both_commands_refuse_it_before_anything_else(tmp_path, command):
    machine = Machine(tmp_path / "my studies")
    shutil.copy(ROOT / command, machine.clone)
    done = machine.shell(f"PATH={os.environ['PATH']}; ./{command}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_a_folder_of_another_language_is_taken(tmp_path):
    machine = Machine(tmp_path / "Prüfstände")
    assert machine.shell(". envs/setup.sh").returncode == 0


def test_a_home_that_cannot_be_written_keeps_its_caches_in_the_project(debian):
    show = ". envs/setup.sh && echo $XDG_CACHE_HOME $MPLCONFIGDIR"
    inside = debian.clone / ".cache"
    assert debian.shell(show, HOME="/proc/none").stdout.split() == [str(inside), f"{inside}/matplotlib"]
    assert debian.shell(show, HOME=str(debian.clone.parent)).stdout.split() == []
    kept = debian.clone.parent / "kept"
    assert debian.shell(show, HOME="/proc/none", XDG_CACHE_HOME=str(kept)).stdout.split() == [str(kept)]


def test_bytecode_is_kept_also_where_a_machine_forbids_it(debian):
    shown = debian.shell(". envs/setup.sh && env", PYTHONDONTWRITEBYTECODE="1").stdout
    assert "PATH=" in shown and "PYTHONDONTWRITEBYTECODE" not in shown


NEW_PYTHON = """\
case "$*" in
*"-m venv .venv"*) mkdir -p .venv/bin && cp "$PROGRAMS/new-python" .venv/bin/python ;;
*"-m pip --version"*) [ ! -e .venv/half-made ] ;;
*"-m pip install"*)
    [ -z "$OFFLINE" ] || { echo "retrying"; echo "ERROR: no matching distribution for uv"; exit 1; }
    printf '#!/bin/bash\\n' > .venv/bin/uv && chmod +x .venv/bin/uv ;;
esac
"""


@pytest.fixture
def half_made(debian) -> Machine:
    """A .venv with Python but without pip, as Ctrl-C leaves it. Its programs only note what they are asked for."""
    (debian.clone / ".venv/half-made").touch()
    debian.add("new-python", NEW_PYTHON)
    debian.add("../clone/.venv/bin/python", NEW_PYTHON)
    for name in ("uv.lock", "pyproject.toml"):
        (debian.clone / name).touch()
    return debian


SET_UP_PYTHON = ". envs/setup.sh && PATH=$PROGRAMS system_python=new-python && need_python"


def test_a_half_made_environment_is_made_again(half_made):
    done = half_made.shell(SET_UP_PYTHON)
    assert (done.returncode, done.stderr) == (0, "Making the Python environment in .venv\n")
    assert not (half_made.clone / ".venv/half-made").exists() and (half_made.clone / ".venv/locked").exists()
    assert half_made.shell(SET_UP_PYTHON).stderr == ""


def test_the_reason_of_pip_is_printed(half_made):
    done = half_made.shell(SET_UP_PYTHON, OFFLINE="1")
    assert done.returncode == 1
    assert "Could not install uv into .venv: ERROR: no matching distribution for uv\n" in done.stderr
