"""Buses between adapters and nodes as a limit, and changes to a faster protocol."""

import numpy as np
import pytest
from refused import refusal
from report_parts import plain
from small_runs import ROOT

from analysis.importers import read_foreign, read_published
from analysis.presentation.labels import Labels
from analysis.runs.buses import bus_peak
from analysis.runs.errors import TableError
from analysis.runs.facts import Facts
from analysis.topics.network.curve_numbers import time_drops
from analysis.topics.network.imports import imported_network
from analysis.topics.network.sentences import bus_sentences
from analysis.topics.network.tables import host_buses, link_rates, make_network_tables


@pytest.fixture(scope="module")
def heads():
    """Headlines of the curves of SAND2005-1555P."""
    curves = imported_network(read_foreign(ROOT / "analysis/published/pmb.csv").curves)
    published = read_published(ROOT / "analysis/published")
    tables = make_network_tables(curves, link_rates(Facts(), published), host_buses(Facts(), published))
    return tables["network_headlines"]


@pytest.mark.parametrize(
    ("lanes", "gigabytes"), [(1, 0.5), (2, 1), (4, 2), (8, 4), (12, 6), (16, 8), (32, 16)]
)
def test_lanes_of_pci_express_carry_the_rate_of_the_table(lanes, gigabytes):
    """SAND2005-1555P, table 1: both directions together."""
    assert bus_peak(f"PCIe 1.0 x{lanes}").both_ways_MBps == 1000 * gigabytes


def test_a_lane_of_the_third_generation_by_hand():
    """8 GT/s, 128 bits of data in 130: 984.6 MB/s each way."""
    assert bus_peak("PCIe 3.0 x1").one_way_MBps == pytest.approx(984.6, abs=0.06)


def test_pci_shares_its_wires_between_directions():
    assert bus_peak("PCI-X 133") == (1064, 1064) and bus_peak("PCI 33") == (264, 264)


@pytest.mark.parametrize("bus", ["PCIe 6.0 x8", "PCIe 1.0 x3", "PCI-X", "AGP 8"])
def test_another_bus_is_refused_in_a_line(bus):
    assert "is no bus: PCIe 1.0 x8" in refusal(TableError, bus_peak, bus)


def test_both_limits_are_shown_with_the_published_peaks(heads):
    """Callisto exchanges 831 MB/s: 41.6 % of its link, as published, and 78.1 % of a bus of 1064."""
    row = heads.set_index(["benchmark", "interconnect"]).loc[("sendrecv", "infiniband_4x_pcix")]
    assert row["percent_of_link"] == pytest.approx(41.6, abs=0.06)
    assert row["percent_of_host_bus"] == pytest.approx(831 / 10.64, abs=0.06)
    sentences = [plain(line) for line in bus_sentences(heads, Labels(Facts()))]
    assert len(sentences) == 3
    assert sentences[-1].endswith(
        "PCI-X 133 carries only 1064 MB/s. The link carries 2133 MB/s. The peak is 82 % of the host bus."
    )


def test_faster_and_slower_protocols_are_found(heads):
    """The study names 512 bytes of Elan4, and 2 KB of InfiniBand."""
    by_interconnect = heads[heads["benchmark"] == "pingpong"].set_index("interconnect")
    assert by_interconnect["switches"].dropna().to_dict() == {
        "infiniband_4x_pcie": "2048", "infiniband_4x_pcix": "2048", "quadrics_elan4": "64"
    }  # fmt: skip
    assert by_interconnect["drops"].dropna().to_dict() == {"quadrics_elan4": "512"}
    assert time_drops(np.array([1.0, 2, 4]), np.array([5.0, 4.6, 4.1])) == (4,)  # 8 % and 11 % less
