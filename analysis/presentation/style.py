"""The look of all figures: sizes, ink, and one colour, marker and line style per interconnect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import matplotlib as mpl
import seaborn as sns
from matplotlib.colors import to_hex, to_rgb

from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.frames import is_missing

INK = "#1c1c1c"
PAPER = "#ffffff"
GRID = "#e3e3e3"
IDEAL = "#9b9b9b"
SHADE = "#f3f3f3"
# Dark numbers are legible on both, and in grey print they differ.
BLUE, ORANGE = "#6b95bd", "#f5b27a"

# Luminance differs between any two of the first four by at least 14 CIELAB units, between any two by 6:
# they stay apart in grey print and for colour-blind readers.
COLOURS = (
    "#044883", "#eb8237", "#03795d", "#530115", "#e5c040",
    "#ee5299", "#793aa5", "#1bc0e9", "#043d3a", "#0a82c7",
)  # fmt: skip
# As many as share no divisor with the colours, so that the pairs repeat only after 110 interconnects.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
KNOWN = (
    "gigabit_ethernet emulated_gigabit emulated_gigabit_delayed emulated_ten_gigabit_mtu1500 "
    "ethernet_cloud_tcp infiniband_verbs_qdr intel_mpi_infiniband",
    "emulated_ten_gigabit ten_gigabit_ethernet infiniband_200 infiniband_half_tree",
    "infiniband infiniband_mpi infiniband_verbs_sdr infiniband_100 infiniband_4x_pcie "
    "infiniband_full_tree infiniband_qdr infiniband_qdr_azure infiniband_sdr ipoib_qdr ucx_verbs",
    "myrinet_single_port_mpi infiniband_edr emulated_gigabit_mtu1500 myrinet_dual_port "
    "myrinet_dual_port_mpi myrinet_single_port quadrics_elan3_adaptive ucx_ipoib "
    "emulated_two_gigabit_model",
    "quadrics_elan4 quadrics_mpi efa efa_hpc6a emulated_gigabit_model ethernet_10_cloud_tcp "
    "infiniband_qdr_fibre intel_mpi_omni_path quadrics_elan3 quadrics_elan3_packets_in_order "
    "shared_memory_mpich",
    "rdma_gigabit_ethernet emulated_ten_gigabit_mpich gigabit_ethernet_acenic gigabit_ethernet_broadcom "
    "infiniband_ddr myrinet_dual_port_tcp myrinet_single_port_tcp quadrics_elan3_memory roce_100 sci_3d "
    "shared_memory_model",
    "sci_mpi tofu emulated_gigabit_mtu9000 infiniband_verbs_ddr omni_path sci sci_2d ucx_tcp "
    "shared_memory_openmp shared_memory_packed",
    "tcp_loopback infiniband_4x_pcix infiniband_400 myrinet_mpi ucx_tcp_loopback emulated_two_gigabit "
    "shared_memory_spread",
    "shared_memory ethernet_100_tcp ipoib libfabric_tcp myrinet_tcp quadrics_elan3_packets ucx_shared_memory",
    "infiniband_fdr emulated_ten_gigabit_model infiniband_4x intel_mpi_efa intel_mpi_tcp "
    "shared_memory_collated slingshot_11 tcp_loopback_mpich",
)
"""Interconnects of this project, one text per colour: two of a kind in a study seldom share a colour."""
LineStyle = str | tuple[int, tuple[float, ...]]
LINES: dict[str, LineStyle] = {"measured": "-", "emulated": (0, (4, 1.6)), "simulated": (0, (1, 1.4)),
         "published": (0, (5, 1.4, 1, 1.4))}  # fmt: skip
OTHER_LINE: LineStyle = (0, (3, 1.2, 1, 1.2, 1, 1.2))
TINTS = (0.0, 0.4, 0.2, 0.6)
"""Share of white in the colours of an interconnect's curves, by placement."""
EXTRAPOLATED: LineStyle = (0, (3, 2))
HATCHES = ("", "/////", "xxxxx", ".....", "-----", "|||||")

FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"
"""Matplotlib's fonts, for programs that print the figures."""

WIDTH = 6.7
"""Width of a figure in inches: as wide as the text on A4 with margins of 2 cm."""

MARKER_POINTS = 4.2

RC = {
    **sns.axes_style("ticks"),
    **sns.plotting_context("paper", font_scale=0.8),
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    "axes.titlelocation": "left",
    "figure.labelsize": "medium",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "xtick.minor.width": 0.6,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.1,
    "lines.markersize": MARKER_POINTS,
    "hatch.linewidth": 0.5,
    "hatch.color": PAPER,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "legend.columnspacing": 1.6,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.wspace": 0.04,
    "figure.constrained_layout.hspace": 0.04,
    "svg.fonttype": "none",
    "text.hinting": "none",
    "text.parse_math": False,
}
"""The theme: seaborn's ticks and paper sizes, with thinner lines, a grid and DejaVu Sans."""


@dataclass(frozen=True)
class Look:
    """Colour and marker of an interconnect."""

    colour: str
    marker: str


def looks(ordered: Iterable[str], present: Iterable[str]) -> dict[str, Look]:
    """Choose colour and marker of every interconnect by its name: the same in every study.

    Sites of an interconnect share its colour. If two interconnects would share colour and marker, the later
    takes the next free marker. The order is the study's (`ordered`), then alphabetical for the interconnects
    `present` that the study does not name.
    """
    made: dict[str, Look] = {}
    for name in [*ordered, *sorted(set(present) - set(ordered))]:
        colour, marker = _wanted(name)
        wanted = [
            Look(COLOURS[(colour + shift) % len(COLOURS)], MARKERS[(marker + step) % len(MARKERS)])
            for shift in range(len(COLOURS))
            for step in range(len(MARKERS))
        ]
        made[name] = next((look for look in wanted if look not in made.values()), wanted[0])
    return made


def _wanted(name: str) -> tuple[int, int]:
    """Find the places of colour and marker of a name; for other names they follow from the letters."""
    base, _, site = name.partition("@")
    place = crc32(site.encode()) if site else 0
    for colour, names in enumerate(KNOWN):
        if base in names.split():
            return colour, colour + 3 * names.split().index(base) + place
    letters = crc32(base.encode())
    return letters % len(COLOURS), letters // len(COLOURS) + place


def placed(look: Look, processes_per_node: float | None) -> Look:
    """Choose the look of a curve of an interconnect whose curves differ in their placement.

    Every doubling of the processes per node has another marker and tint, the same in all figures. Without
    processes per node, which a study that does not vary placement lacks, the look stays as it is.
    """
    if is_missing(processes_per_node):
        return look
    doublings = round(math.log2(max(processes_per_node, 1)))
    share = TINTS[doublings % len(TINTS)]
    tint = to_hex([channel + (1 - channel) * share for channel in to_rgb(look.colour)])
    return Look(tint, MARKERS[(MARKERS.index(look.marker) + doublings) % len(MARKERS)])


def line_of(kind: str) -> LineStyle:
    """Give a kind its line: measured solid, emulated dashed, simulated dotted, published dash-dot."""
    return LINES.get(kind, OTHER_LINE)


SERIAL_LOOK = Look(INK, "8")


@dataclass(frozen=True)
class FigureLabels(Labels):
    """Labels of a study's figures: names, and the look of every interconnect as `looks` gives it."""

    looks: Mapping[str, Look]

    @classmethod
    def of(cls, facts: Facts, present: Iterable[str] = ()) -> FigureLabels:
        """Add the looks of the interconnects of the facts and of other interconnects that are `present`."""
        return cls(facts, looks(facts.interconnects, present))

    def look(self, interconnect: object, processes_per_node: float | None = None) -> Look:
        """Choose the look of a curve of an interconnect, or of the serial run."""
        if is_missing(interconnect):
            return SERIAL_LOOK
        return placed(self.looks[str(interconnect)], processes_per_node)
