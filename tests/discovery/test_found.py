"""The listing of found interconnects, and the files that are written."""

from contextlib import nullcontext

import pytest

from workflows.discovery.found import NOT_MEASURED, Found, listing, write_files
from workflows.discovery.ping_pong import PingPong, play
from workflows.discovery.request import HELP, Request, find_interconnects
from workflows.discovery.selectable import Selectable
from workflows.discovery.tools import TOOLS
from workflows.domain import InputError
from workflows.inputs import read_yaml
from workflows.paths import ROOT

MEMORY = Selectable(
    "shared_memory",
    "Shared memory",
    "Shared memory",
    {"mpi": "openmpi", "mca": {"btl": "self,vader"}},
    joins_nodes=False,
)
TCP = Selectable("tcp_eth7", "TCP over eth7", "TCP", {"mpi": "openmpi", "mca": {"btl": "self,tcp"}})
BROKEN = Selectable("libfabric_efa", "EFA", "EFA", {"mpi": "openmpi", "mca": {"pml": "cm"}})
PLAYED = PingPong(
    {"latency_us": [0.1, 1.0], "bandwidth_MBps": [2e3, 2e4]}, {"latency_us": 0.2, "bandwidth_MBps": 9e3}
)
FOUND = Found(
    "n1",
    {"ompi_info": None, "ibstat": "not installed (Debian: infiniband-diags)"},
    [
        (MEMORY, PLAYED),
        (TCP, PingPong(reason="needs two nodes (--profile cluster)")),
        (BROKEN, PingPong(reason="ended by exit status 1: no device", failed=True)),
    ],
)


def test_the_listing_shows_the_kind_the_settings_and_every_tool_without_an_answer():
    lines = listing(FOUND)
    (memory,) = (line for line in lines if line.startswith("shared_memory"))
    assert memory.split()[:4] == ["shared_memory", "measured", "Open", "MPI"] and "btl=self,vader" in memory
    assert "0.2 µs, 9000 MB/s" in memory
    assert "libfabric_efa fails: ended by exit status 1: no device" in lines
    assert lines[-1] == "ibstat: not installed (Debian: infiniband-diags)"


def test_without_a_ping_pong_the_listing_has_no_column_for_it():
    lines = listing(Found("n1", {"ompi_info": None}, [(MEMORY, NOT_MEASURED)]))
    assert "ping-pong" not in lines[1] and "not measured" not in "".join(lines)


def test_results_of_a_job_are_read_back_unchanged():
    assert Found.from_json(FOUND.as_json()) == FOUND


def test_files_hold_the_ranges_and_a_failing_interconnect_gets_none(tmp_path):
    folder = tmp_path / "interconnects"
    lines = write_files(FOUND, folder)
    assert {file.name for file in folder.iterdir()} == {"shared_memory.yaml", "tcp_eth7.yaml"}
    assert read_yaml(folder / "shared_memory.yaml")["attest"] == PLAYED.ranges
    assert read_yaml(folder / "tcp_eth7.yaml")["attest"] == {}
    assert lines == [
        f"{folder}: written: shared_memory, tcp_eth7",
        f"{folder}: not written, because the ping-pong fails: libfabric_efa",
        f"{folder}: without ranges (attest: {{}}), a ping-pong needs two nodes (--profile cluster): tcp_eth7",
    ]


def test_interconnects_that_attestation_cannot_tell_apart_are_named(tmp_path):
    """The pair eth7 and ib0 overlaps; eth7 and eth1 differ in bandwidth, eth7 and UCX in the transport."""

    def played(latency, bandwidth, transport="tcp"):
        return PingPong({"latency_us": latency, "bandwidth_MBps": bandwidth}, {}, [transport])

    def over(name, mpi="openmpi"):
        return Selectable(name, name, name, {"mpi": mpi})

    measured = [
        (MEMORY, PLAYED),
        (TCP, played([10, 200], [50, 900])),
        (over("tcp_ib0"), played([5, 90], [800, 9000])),
        (over("tcp_eth1"), played([150, 900], [1, 40])),
        (over("ucx_tcp_eth7"), played([10, 200], [50, 900], "tcp/eth7")),
        (over("tcp_mpich", "mpich"), played([10, 200], [50, 900])),
    ]
    line = write_files(Found("n1", {}, measured), tmp_path)[-1]
    assert line.startswith(
        "attestation cannot distinguish tcp_eth7 and tcp_ib0: their ranges of latency and "
    )


def test_a_file_that_exists_is_kept(tmp_path):
    (tmp_path / "tcp_eth7.yaml").write_text("mine")
    lines = write_files(FOUND, tmp_path)
    assert (tmp_path / "tcp_eth7.yaml").read_text() == "mine"
    assert f"{tmp_path}: kept as they are; remove a file to measure it again: tcp_eth7" in lines


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ([], Request(None, False, None, [])),
        (["mine.yaml", "--write"], Request("mine.yaml", True, None, [])),
        (["--profile=cluster"], Request(None, False, "cluster", [])),
        (["--write", "mine.yaml"], Request("mine.yaml", True, None, [])),
        (
            ["--write", "--profile", "cluster", "mine.yaml", "--config", "cluster=a.yaml"],
            Request("mine.yaml", True, "cluster", ["--config", "cluster=a.yaml"]),
        ),
    ],
)
def test_words_after_the_option(words, request_):
    assert Request.of(words) == request_


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--wriet"], "--interconnects: '--wriet' is unknown; allowed: --write, --profile and a study"),
        (["--profile"], "--profile: a profile is missing: --profile cluster"),
    ],
)
def test_wrong_words_are_one_line(words, line):
    with pytest.raises(InputError) as refused:
        Request.of(words)
    assert str(refused.value) == line


def test_files_go_into_the_folder_that_the_study_names(tmp_path, monkeypatch):
    study = tmp_path / "mine.yaml"
    study.write_text("name: mine\nimport: [runs.csv]\ninterconnects_folder: fabrics\n")
    monkeypatch.setattr("workflows.discovery.request.find", lambda cores: FOUND)
    last = find_interconnects(["mine.yaml"], tmp_path, lambda name, here: here / name)[-1]
    assert last.endswith(f"writes its file into {tmp_path}/fabrics")
    last = find_interconnects([], tmp_path, lambda name, here: here / name)[-1]
    assert last.endswith(f"writes its file into {tmp_path}/interconnects")


def test_nothing_is_measured_if_all_files_exist(tmp_path, monkeypatch):
    """The command then needs neither the lock of the machine nor ping-pongs."""
    measured = []
    monkeypatch.setattr("workflows.discovery.request.find", lambda cores: measured.append(cores) or FOUND)
    monkeypatch.setattr("workflows.discovery.request.only_study_on_this_machine", lambda _: nullcontext())
    folder = tmp_path / "interconnects"
    folder.mkdir()
    for each, _ in FOUND.interconnects[:2]:
        (folder / f"{each.name}.yaml").touch()
    find_interconnects(["--write"], tmp_path, lambda name, here: here / name)
    assert len(measured) == 2 and measured[-1] > 0
    (folder / "libfabric_efa.yaml").touch()
    monkeypatch.setattr("workflows.discovery.request.only_study_on_this_machine", None)
    find_interconnects(["--write"], tmp_path, lambda name, here: here / name)
    assert measured[2:] == [0]


def test_models_are_listed_as_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr("workflows.discovery.request.find", lambda cores: FOUND)
    lines = find_interconnects([], tmp_path, lambda name, here: here / name)
    assert any(line.startswith("simulated (models, which use no hardware): ") for line in lines)
    assert any(line.startswith("emulated (") for line in lines)


@pytest.mark.needs("mpirun")
def test_a_ping_pong_through_the_memory_of_this_machine_lies_in_its_ranges():
    played = play(MEMORY, [], cores=2)
    assert played.transports == ["vader"] and not played.failed and played.reason is None
    assert all(low < played.best[quantity] < high for quantity, (low, high) in played.ranges.items())


@pytest.mark.needs("mpirun")
def test_an_interconnect_that_does_not_work_fails_with_a_reason():
    wrong = Selectable(
        "wrong", "Wrong", "Nothing", {"mpi": "openmpi", "mca": {"pml": "nothing"}}, joins_nodes=False
    )
    played = play(wrong, [], cores=2)
    assert played.failed and not played.ranges and played.reason


def test_an_interconnect_between_nodes_is_not_measured_on_one():
    assert play(TCP, [], cores=2).reason == "needs two nodes (--profile cluster)"


def test_the_page_names_every_tool_and_help_every_option():
    page = (ROOT / "docs/find-interconnects.md").read_text()
    assert all(f"`{tool.name}" in page and tool.package in page for tool in TOOLS)
    assert "--write" in HELP and "--profile cluster" in HELP
