"""A dry run states what the real command will do, and writes nothing to the results."""

import pytest
from programs import printed, ran

from workflows.paths import ROOT

pytestmark = pytest.mark.needs("lmp", "mpirun.openmpi")
INPUT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 20
"""
STUDY = """\
name: mine
cases: [{path: melt.lmp, steps: 5}]
interconnects: [shared_memory]
processes: [1]
blocks: 1
limits: {idle_seconds: 0}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "melt.lmp").write_text(INPUT)
    (tmp_path / "mine.yaml").write_text(STUDY)
    return tmp_path


def test_a_dry_run_of_a_study_with_a_path_copies_nothing(folder):
    assert "0 recorded in results/mine" in ran(ROOT / "run-study", "mine.yaml", "-n", cwd=folder).stderr
    assert not (folder / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--case", "study"])
def test_a_touched_file_is_not_announced_as_a_change(folder, option):
    keys = ["--config", "blocks=1", "limits={idle_seconds: 0}"]
    case = ["--case", "melt.lmp", "--steps", "5", "--processes", "1", *keys]
    words, name = (case, "melt") if option == "--case" else (["mine.yaml"], "mine")
    target = ["--", f"results/{name}/records.txt"]
    printed(ROOT / "run-study", *words, *target, cwd=folder, timeout=200)
    (folder / "melt.lmp").touch()
    done = ran(ROOT / "run-study", *words, "--dry-run", *target, cwd=folder, timeout=200)
    assert "1 recorded in results" in done.stderr and "Nothing to be done" in done.stdout
    (folder / "melt.lmp").write_text(INPUT.replace("3.0", "2.0"))
    done = ran(ROOT / "run-study", *words, "--dry-run", *target, cwd=folder, timeout=200)
    assert "0 recorded in results" in done.stderr and "measure" in done.stdout
