"""Component of Open MPI that carried one-sided messages, as the ranks report it."""

from dataclasses import replace

import pytest

from workflows.applications import application
from workflows.domain import Point
from workflows.launch.mpi.library import Report
from workflows.launch.mpi.registry import SERIAL_LIBRARY, read_report
from workflows.measure.running import run
from workflows.paths import ROOT
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

nwchem = application("nwchem")


def test_windows_are_counted_by_component_and_the_rest_is_kept(tmp_path):
    (tmp_path / "0.messages").write_text(
        "[vm:05331] pt2pt component destroying window with id 3\n"
        "[vm:05331] something else is wrong\n"
        "[vm:05331] pt2pt component destroying window with id 4\n"
    )
    (tmp_path / "1.messages").write_text("[vm:05332] rdma component destroying window with id 3\n")
    expected = Report([], {"pt2pt": 2, "rdma": 1}, "[vm:05331] something else is wrong\n")
    assert read_report(None, tmp_path) == expected


TCP, PT2PT = {"btl": "self,tcp"}, {"osc": "pt2pt"}
ASKED, CARRIED = "as the interconnect requires", "one-sided messages were carried by"
PAST_TCP = "which inside a node goes through shared memory and not by btl self,tcp; add osc: pt2pt to the interconnect"


@pytest.mark.parametrize(
    ("mca", "windows", "one_sided", "problem"),
    [
        (TCP | PT2PT, {"pt2pt": 8}, True, None),
        (TCP | PT2PT, {}, False, None),
        (TCP | PT2PT, {"pt2pt": 8, "rdma": 1}, True, f"{CARRIED} pt2pt, rdma, not by pt2pt {ASKED}"),
        (TCP | PT2PT, {}, True, f"no message confirms that pt2pt carried the one-sided messages, {ASKED}"),
        (TCP, {"rdma": 8}, True, f"{CARRIED} rdma, {PAST_TCP}"),
        (TCP, {}, True, f"{CARRIED} an unknown component, {PAST_TCP}"),
        (TCP, {}, False, None),
        (TCP, {"pt2pt": 8}, True, None),
        ({"btl": "self,vader"}, {"rdma": 8}, True, None),
        ({"pml": "ucx", "osc": "ucx"}, {}, True, None),  # that component prints nothing
    ],
)
def test_another_component_than_the_interconnect_asks_for_is_noticed(mca, windows, one_sided, problem):
    report = Report([], windows)
    assert SERIAL_LIBRARY.one_sided_problem({"mca": mca}, report, one_sided) == problem


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "components", "problem"),
    [
        ({}, {"pt2pt"}, None),
        ({"osc": None}, set(), "by an unknown component"),  # sm, past TCP
    ],
)
def test_a_real_run_over_tcp(tmp_path, changes, components, problem):
    case = load_case("water_scf-smoke", ROOT / "cases")
    tcp = load_interconnect("tcp_loopback", ROOT / "config/interconnects")
    mca = {name: value for name, value in (tcp.launch["mca"] | changes).items() if value}
    tcp = replace(tcp, launch=tcp.launch | {"mca": mca})
    nwchem.prepare(case, 2, tmp_path, None)
    done = run(case, Point(case.name, tcp.name, 2, 2, 1, 1), tmp_path, tcp, (), time_limit_seconds=120)
    assert set(done.one_sided_windows) == components
    assert problem in done.problem if problem else done.problem is None
