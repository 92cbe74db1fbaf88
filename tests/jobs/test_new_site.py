"""The site file that ``./run-study --init`` writes, with a scheduler that is played, real or absent."""

import os
from pathlib import Path

import pytest
import yaml
from needs import SLURM
from programs import ran, write_program
from refused import refusal

from tests.slurm.small_slurm import small_slurm
from workflows.command import main
from workflows.domain import InputError
from workflows.jobs import slurm
from workflows.jobs.cluster import read_cluster
from workflows.paths import ROOT
from workflows.plan.new_site import write_site

SINFO = """#!/bin/sh
case "$*" in
*%l*)
    echo 'long|2-00:00:00|4|128|2:64:1|500000|rome,ib'
    echo 'short*|30:00|8|64|2:32:1|250000|icelake'
    ;;
*)
    echo 'long|4|128|2:64:1|500000|rome,ib'
    echo 'short*|8|64|2:32:1|250000|icelake'
    ;;
esac
"""
SACCTMGR = """#!/bin/sh
case "$*" in
*DefaultAccount*) echo physics ;;
*) printf 'physics|normal,long|20\\nchemistry|normal|\\n' ;;
esac
"""
NO_CONFIGURATION = """#!/bin/sh
echo "sinfo: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host" >&2
echo "sinfo: fatal: Could not establish a configuration source" >&2
exit 1
"""
STUDY = """\
name: planned
cases: [pingpong-smoke]
interconnects: [ucx_tcp]
processes: [1, 2]
blocks: 1
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without a scheduler and without modules; returns a function that adds a program."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    for name in ("SLURM_JOB_ID", "MODULESHOME", "LOADEDMODULES"):
        monkeypatch.delenv(name, raising=False)
    for name in ("sh", "env"):
        (programs / name).symlink_to(f"/bin/{name}")
    for cached in (slurm.nodes_of, slurm.has_controller):
        cached.cache_clear()
        monkeypatch.setattr(slurm, cached.__name__, cached)
    yield lambda name, script: write_program(programs / name, script)
    for cached in (slurm.nodes_of, slurm.has_controller):
        cached.cache_clear()


def written(folder: Path) -> tuple[dict, str, list[str]]:
    """Keys and text of the file that is written, and the printed lines."""
    lines = write_site(folder)
    text = (folder / "site.yaml").read_text()
    read = [line for line in text.splitlines() if not line.startswith("# ")]
    assert all("  # " in line for line in read), text  # a comment in every line
    return yaml.safe_load(text) or {}, text, lines


def test_slurm_says_what_the_site_has(machine, tmp_path, monkeypatch):
    machine("sbatch", "#!/bin/sh\n")
    machine("sinfo", SINFO)
    machine("sacctmgr", SACCTMGR)
    machine("srun", "#!/bin/sh\necho 'srun: MPI types are...\n\tnone\n\tpmi2\n\tpmix'\n")
    machine("mpirun.openmpi", "#!/bin/sh\n")
    machine("ompi_info", "#!/bin/sh\necho 'mca:pmix:ext3x:version:\"mca:2.1.0\"'\n")
    monkeypatch.setenv("LOADEDMODULES", "gcc/12:openmpi/4.1.4")
    keys, text, lines = written(tmp_path)
    assert keys == {
        "launcher": "srun",
        "mpi_plugin": "pmix",
        "partition": "short",
        "account": "physics",
        "exclusive": True,
        "minutes": 30,
        "nodes": 8,
        "cores_per_node": 64,
        "memory_per_node_MB": 250000,
        "limits": {"submitted_jobs": 20},
        "modules": ["gcc/12", "openmpi/4.1.4"],
    }
    for word in ("long", "chemistry", "pmi2", "icelake", "0:30"):
        assert word in text
    assert lines[0] == f"{tmp_path}/site.yaml: written"
    assert lines[-1] == f"try: {ROOT}/run-study smoke --profile cluster --dry-run"
    assert read_cluster(tmp_path / "site.yaml").nodes_of(None) == (8, 64, 250000)


def test_without_slurm_the_keys_are_to_be_filled_in(machine, tmp_path):
    keys, text, lines = written(tmp_path)
    assert "nodes" not in keys and "\n# nodes: " in text
    assert lines[1:3] == [
        "fill in: nodes, cores_per_node, memory_per_node_MB",
        "fill in if the cluster needs them: partition, account",
    ]
    message = refusal(InputError, read_cluster(tmp_path / "site.yaml").nodes_of, None)
    assert message.startswith(
        f"{tmp_path}/site.yaml: nodes, cores_per_node, memory_per_node_MB: must be given"
    )


def test_another_scheduler_has_its_name_in_the_file(machine, tmp_path):
    machine("qsub", "#!/bin/sh\n")
    keys, text, lines = written(tmp_path)
    assert keys["scheduler"] == "pbs" and keys["launcher"] == "mpirun" and "\n# nodes: " in text
    assert lines[-1].endswith("--profile cluster/pbs --dry-run")


def test_a_file_that_is_there_is_kept(machine, tmp_path):
    (tmp_path / "site.yaml").write_text("minutes: 7\n")
    assert refusal(InputError, write_site, tmp_path) == (
        f"--init: {tmp_path}/site.yaml is there already; remove it first, or edit it"
    )
    assert (tmp_path / "site.yaml").read_text() == "minutes: 7\n"


def test_the_project_has_its_file_in_the_folder_of_the_profile(machine, tmp_path, monkeypatch):
    monkeypatch.setattr("workflows.plan.new_site.ROOT", tmp_path)
    (tmp_path / "cluster").mkdir()
    assert write_site(tmp_path)[-1] == "try: ./run-study smoke --profile cluster --dry-run"
    assert "launcher: srun" in (tmp_path / "cluster/site.yaml").read_text()


def test_it_is_an_option_of_the_command(machine, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["--init"])
    assert capsys.readouterr().out.startswith(f"{tmp_path}/site.yaml: written\n")


def planned(tmp_path: Path, site: str, **environment: str) -> str:
    """Plan a study with the cluster profile where Slurm's programs have no controller."""
    (tmp_path / "site.yaml").write_text(site)
    (tmp_path / "mine.yaml").write_text(STUDY)
    programs = tmp_path / "clients"
    programs.mkdir(exist_ok=True)
    for name in ("sbatch", "sinfo", "scontrol", "srun", "squeue"):
        write_program(programs / name, NO_CONFIGURATION)
    environment["PATH"] = f"{programs}:{os.environ['PATH']}"
    words = ["mine.yaml", "--profile", "cluster", "--dry-run"]
    done = ran(ROOT / "run-study", *words, cwd=tmp_path, timeout=200, NO_COLOR="1", **environment)
    return done.stderr


def test_programs_of_slurm_without_a_controller_plan_by_the_site_file(tmp_path):
    nodes = "nodes: 4\ncores_per_node: 8\nmemory_per_node_MB: 8000\n"
    output = planned(tmp_path, f"{nodes}modules: [openmpi/4.1]\n", MODULESHOME="")
    assert (
        "planned without slurm, by site.yaml alone: programs and modules are taken to be there" in output
    ), output
    assert "largest job: 2 x 1 cores" in output or "largest job: 1 x 2 cores" in output, output
    output = planned(tmp_path, "nodes: 4\n")
    assert output.splitlines()[-1] == (
        "nodeworth: site.yaml: cores_per_node, memory_per_node_MB: must be given to plan where there is no "
        "Slurm to ask"
    )


@pytest.mark.slow
@pytest.mark.needs(*SLURM)
def test_a_real_slurm(tmp_path):
    with small_slurm(nodes=2) as running:
        done = running.run("env", "-C", str(tmp_path), str(ROOT / "run-study"), "--init")
        keys = yaml.safe_load((tmp_path / "site.yaml").read_text())
        (tmp_path / "mine.yaml").write_text(STUDY)
        words = ["mine.yaml", "--profile", "cluster", "--dry-run"]
        plan = running.run("env", "-C", str(tmp_path), str(ROOT / "run-study"), *words)
    assert done.returncode == 0, done.stderr
    assert (keys["partition"], keys["nodes"], keys["cores_per_node"], keys["minutes"]) == ("all", 2, 1, 60)
    assert (keys["launcher"], keys["mpi_plugin"]) == ("srun", "pmix")
    assert plan.returncode == 0 and "jobs: " in plan.stderr, plan.stderr
