"""Command lines of the launchers of a cluster."""

from dataclasses import replace

import pytest

from workflows.domain import Interconnect, Point
from workflows.launch.cluster_launch import IMAGE, JobNode
from workflows.launch.launch import launch_ranks
from workflows.launch.leftovers import MARK
from workflows.launch.placement import check_placement
from workflows.launch.ranks import PROGRAMS
from workflows.measure.in_allocation import snakemake_command

LAUNCH = {"mpi": "openmpi", "mca": {"pml": "ucx"}, "env": {"UCX_TLS": "rc,self"}}
FABRIC = Interconnect("ib", "measured", "IB", LAUNCH, None, 2, 2)


def nodes(launcher):
    return [JobNode(name, launcher, "pmix") for name in ("n1", "n2", "n3")]


def launched(launcher, tmp_path, point=Point("case", "ib", 3, 1, 2, 3), interconnect=FABRIC):  # noqa: B008
    return launch_ranks(point, interconnect, nodes(launcher), ["solve", "-fast"], {"A": "1"}, tmp_path)


def test_srun_puts_every_rank_where_it_belongs(tmp_path):
    launch = launched("srun", tmp_path)
    assert launch.argv[:4] == ["srun", "--mpi=pmix", "--nodes=2", "--ntasks=3"]
    assert "--overlap" in launch.argv and launch.argv[-2:] == ["solve", "-fast"]
    assert (tmp_path / "hosts").read_text() == "n1\nn1\nn2\n"
    assert launch.env["SLURM_HOSTFILE"] == str(tmp_path / "hosts")
    assert launch.env["NODEWORTH_RANKS_OF_NODES"] == "2 1"
    assert (launch.env["OMPI_MCA_pml"], launch.env["UCX_TLS"], launch.env["A"]) == ("ucx", "rc,self", "1")


def test_a_serial_run_is_a_step_too(tmp_path):
    launch = launched("srun", tmp_path, Point("case", None, 1, 1, 1, 1), None)
    assert launch.argv[:5] == ["srun", "--mpi=pmix", "--nodes=1", "--ntasks=1", "--nodelist=n1"]
    assert launch.env["OMPI_MCA_btl"] == "self,vader" and "SLURM_HOSTFILE" not in launch.env


@pytest.mark.parametrize(
    ("launcher", "named", "library"),
    [
        ("srun", "openmpi", "openmpi"),
        ("srun", "mpich", "mpich"),
        ("hydra", "mpich", "mpich"),
        ("mpirun", None, "openmpi"),
        ("hydra", None, "mpich"),
        ("srun", None, None),  # a serial run by whatever library there is
    ],
)
def test_mpi4py_takes_the_library_of_the_launch(tmp_path, launcher, named, library):
    interconnect = replace(FABRIC, launch={"mpi": named}) if named else None
    point = Point("case", "ib", 3, 1, 2, 3) if named else Point("case", None, 1, 1, 1, 1)
    assert launched(launcher, tmp_path, point, interconnect).env.get("MPI4PY_MPIABI") == library


def test_variables_of_the_allocation_are_not_inherited(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "1")
    monkeypatch.setenv("FLUX_JOB_ID", "f12")  # with which Open MPI's mpirun would ask Flux, and fails
    env = launched("srun", tmp_path).env
    assert env["SLURM_JOB_ID"] == "7" and not {"SLURM_NTASKS_PER_NODE", "FLUX_JOB_ID"} & set(env)


@pytest.mark.parametrize(
    ("launcher", "start"),
    [
        ("mpirun", ["mpirun", "-n", "3", "--host", "n1:2,n2:1"]),
        ("hydra", ["mpiexec.hydra", "-bootstrap", "slurm", "-hosts", "n1:2,n2:1", "-n", "3"]),
    ],
)
def test_other_launchers_start_their_daemons_with_the_step(tmp_path, launcher, start):
    launch = launched(launcher, tmp_path)
    assert launch.argv[: len(start)] == start
    assert launch.env["SLURM_OVERLAP"] == "1"


def test_mpirun_gets_the_variables_of_the_job(tmp_path):
    env = launched("mpirun", tmp_path).env
    assert (env["SLURM_NODELIST"], env["SLURM_NNODES"], env["SLURM_TASKS_PER_NODE"]) == ("n1,n2", "2", "2,1")


def test_from_inside_an_image_ranks_enter_it_on_their_nodes(tmp_path, monkeypatch):
    monkeypatch.setenv(IMAGE, "/bin/apptainer exec --userns image")
    entered = ["env", "-u", MARK, "/bin/apptainer", "exec", "--userns", "image", str(PROGRAMS / "rank")]
    srun = launched("srun", tmp_path).argv
    begins = srun.index("env")
    assert srun[begins : begins + len(entered)] == entered
    (tmp_path / "other").mkdir()
    mpirun = launched("mpirun", tmp_path / "other")
    assert mpirun.env["OMPI_MCA_orte_launch_agent"] == "/bin/apptainer exec --userns image orted"
    assert "image" not in mpirun.argv


def test_ranks_on_other_nodes_than_the_jobs_are_reported():
    point = Point("case", "ib", 2, 1, 2, 2)
    place = [{"rank": r, "host": f"{h}.site", "cores": "0"} for r, h in enumerate(("n1", "n2"))]
    assert check_placement(place, point, nodes("srun")) is None
    place[1]["host"] = "n3.site"
    assert check_placement(place, point, nodes("srun")) == "n3.site with cores [0] is not n2"
    fewer = [rank | {"host": "n1"} for rank in place]
    assert check_placement(fewer, point, nodes("srun")) == "ran on 1 node (n1), not on 2"


def test_snakemake_in_an_allocation():
    ours = "--executor local --cores all --config cluster=cluster/site.yaml allocation=True"
    plain = snakemake_command(["mine.yaml", "-n"])
    assert " ".join(plain[6:]) == f"--configfile=mine.yaml {ours} -n"
    command = snakemake_command(["--config", "cluster=my.yaml", "--", "all"])
    assert " ".join(command[6:]) == f"{ours} cluster=my.yaml -- all"
