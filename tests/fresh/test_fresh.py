"""Both commands on a new machine, in README's order: minimal Debians that differ in users and installed packages.

All quick tests are run where they differ: as root, who may do everything, and as a user without root, for whom nothing
is installed for the tests. The other variants differ in what is installed first and how; they run the study and the tests
of what depends on that: set-up, launching, tracing, replaying. Quick tests run with SIGINT and SIGHUP ignored,
as under nohup. What was typed and printed is in .cache/fresh/<variant>.log.
"""

import os
import re

import pytest
from minimal_debian import USER, MinimalDebian, minimal_debian
from needs import NAMESPACES
from programs import ran

pytestmark = [
    *(pytest.mark.fresh, pytest.mark.slow, pytest.mark.timeout(5400)),
    pytest.mark.needs("debootstrap", "apt-config", NAMESPACES),
]

CLONE = "git clone --quiet /source nodeworth"
STUDY = "cd nodeworth && ./run-study smoke"
QUICK = "cd nodeworth && trap '' INT HUP && ./run-tests quick"
WHAT_DEPENDS_ON_IT = f"{QUICK} tests/commands tests/study tests/plan tests/launch tests/jobs tests/measure tests/tracing tests/simulation tests/replay"
PARTS = "Installing as root: apt-get install --no-install-recommends "


@pytest.fixture
def debian(tmp_path, request):
    if os.geteuid():
        pytest.skip("a Debian is made as root")
    with minimal_debian(tmp_path, request.node.name.removeprefix("test_")) as made:
        made.log.write_text(f"commit {ran('git', 'log', '-1', '--format=%h %s').stdout}")
        yield made


def measured(debian: MinimalDebian, user: str = "root", **environment: str) -> str:
    """Run the study, which must succeed and hide apt's output; returns its output."""
    output = debian.type(STUDY, user, **environment)
    assert re.search(r"^done: report: /\S+/results/smoke/report\.pdf$", output, re.M), output[-2000:]
    invalid = re.search(r"(\d+) of (\d+) runs (is|are) invalid.*", output)
    assert invalid is None or "time unsure" in invalid[0] or "the probe" in invalid[0], invalid[0]
    assert "Reading package lists" not in output
    return output


def passed(debian: MinimalDebian, command: str, user: str = "root", **environment: str) -> str:
    output = debian.type(command, user, **environment)
    assert re.search(r"\b\d+ passed", output)
    return output


def test_root(debian):
    debian.type(CLONE)
    assert PARTS in measured(debian)
    assert "not installed" not in passed(debian, QUICK)
    assert PARTS not in debian.type(STUDY)


def test_user_with_sudo(debian):
    (debian.root / "etc/sudoers.d/anna").write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    debian.type(CLONE, USER)
    assert PARTS in measured(debian, USER)
    assert "not installed" not in passed(debian, WHAT_DEPENDS_ON_IT, USER)


def test_user_without_sudo(debian):
    """One message names all; root types it; the user, whose HOME cannot be written, goes on."""
    debian.type(CLONE, USER)
    status, output = debian.run(STUDY, USER)
    [packages] = re.findall(r"\AThese packages are missing. Ask an administrator for: sudo (.*)\n\Z", output)
    assert status == 1 and "python3-venv" in packages and "nwchem" in packages
    debian.type(f"apt-get update -qq && DEBIAN_FRONTEND=noninteractive {packages} -y -qq")
    measured(debian, USER, HOME="/proc/none")
    assert "Ask an administrator for" in passed(debian, QUICK, USER, HOME="/proc/none")


def test_mpich_first(debian):
    debian.type("apt-get update -qq && apt-get install -y -qq --no-install-recommends mpich libmpich-dev")
    debian.type(CLONE)
    measured(debian)
    assert "not installed" not in passed(debian, WHAT_DEPENDS_ON_IT)


def test_openmpi_first_and_a_package_that_cannot_be_had(debian):
    """Open MPI's programs come without their headers; `lammps` is a name that apt does not know."""
    debian.type("apt-get update -qq && apt-get install -y -qq --no-install-recommends openmpi-bin mpich")
    debian.type(f"{CLONE} && sed -i 's/ lammps / no-such-package /' nodeworth/envs/programs.txt")
    output = measured(debian)
    assert re.search(
        r"^no-such-package cannot be installed: E: Unable to locate package no-such-package$", output, re.M
    )
    passed(debian, WHAT_DEPENDS_ON_IT)
