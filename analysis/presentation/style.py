"""Style of all figures: sizes, colours, and one colour, marker and line style per interconnect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
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
# Dark numbers are legible on both colours, which differ in grey print.
BLUE, ORANGE = "#6b95bd", "#f5b27a"

# Any two of the first four colours differ by at least 14 CIELAB units of luminance, any two of all by 6, so
# that grey print and colour-blind readers distinguish them.
COLOURS = (
    "#044883", "#eb8237", "#03795d", "#530115", "#e5c040",
    "#ee5299", "#793aa5", "#1bc0e9", "#043d3a", "#0a82c7",
)  # fmt: skip
# The numbers of markers and colours have no common divisor: pairs repeat only after 110 interconnects.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
NAMES_BY_COLOUR = (
    "gigabit_ethernet emulated_gigabit emulated_gigabit_delayed emulated_ten_gigabit_mtu1500 "
    "ethernet_cloud_tcp infiniband_verbs infiniband_verbs_qdr intel_mpi_infiniband aws_parallel_cluster "
    "aws_eks_noefa",
    "emulated_ten_gigabit ten_gigabit_ethernet infiniband_200 infiniband_half_tree roce_100 aws_eks",
    "infiniband infiniband_mpi infiniband_verbs_sdr infiniband_100 infiniband_4x_pcie "
    "infiniband_full_tree infiniband_qdr infiniband_qdr_azure infiniband_sdr ipoib_qdr ucx_verbs",
    "myrinet_single_port_mpi infiniband_edr emulated_gigabit_mtu1500 myrinet_dual_port "
    "myrinet_dual_port_mpi myrinet_single_port quadrics_elan3_adaptive ucx_ipoib "
    "emulated_two_gigabit_model azure_aks_placement",
    "quadrics_elan4 quadrics_mpi efa infiniband_qdr_fibre emulated_gigabit_model ethernet_10_cloud_tcp "
    "azure_cyclecloud intel_mpi_omni_path quadrics_elan3 quadrics_elan3_packets_in_order "
    "shared_memory_mpich",
    "rdma_gigabit_ethernet emulated_ten_gigabit_mpich gigabit_ethernet_acenic gigabit_ethernet_broadcom "
    "infiniband_ddr myrinet_dual_port_tcp myrinet_single_port_tcp quadrics_elan3_memory sci_3d azure_aks "
    "shared_memory_model",
    "sci_mpi tofu emulated_gigabit_mtu9000 infiniband_verbs_ddr omni_path sci sci_2d ucx_tcp "
    "shared_memory_openmp shared_memory_packed google_gke",
    "tcp_loopback infiniband_4x_pcix infiniband_400 myrinet_mpi ucx_tcp_loopback emulated_two_gigabit "
    "shared_memory_spread google_compute_engine",
    "shared_memory ethernet_100_tcp ipoib libfabric_tcp myrinet_tcp quadrics_elan3_packets ucx_shared_memory "
    "efa_hpc6a",
    "infiniband_fdr emulated_ten_gigabit_model infiniband_4x intel_mpi_efa intel_mpi_tcp "
    "shared_memory_collated slingshot_11 tcp_loopback_mpich",
)
"""Interconnects of this project, one text per colour. Interconnects of a study seldom share a colour."""
LineStyle = Literal["-", "none"] | tuple[float, Sequence[float]]
LINES: dict[str, LineStyle] = {"measured": "-", "emulated": (0, (4, 1.6)), "simulated": (0, (1, 1.4)),
         "published": (0, (5, 1.4, 1, 1.4))}  # fmt: skip
OTHER_LINE: LineStyle = (0, (3, 1.2, 1, 1.2, 1, 1.2))
TINTS = (0.0, 0.4, 0.2, 0.6)
"""Share of white in the colour of a curve, by placement."""
EXTRAPOLATED: LineStyle = (0, (3, 2))
HATCHES = ("", "/////", "xxxxx", ".....", "-----", "|||||")

FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"
"""Folder of Matplotlib's fonts, for programs that print the figures."""

WIDTH = 6.7
"""Width of a figure in inches: the text width on A4 with margins of 2 cm."""

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
"""Matplotlib settings: seaborn's ticks and paper sizes, with thinner lines, a grid and DejaVu Sans."""


@dataclass(frozen=True)
class Look:
    """Colour and marker of an interconnect."""

    colour: str
    marker: str


def looks(ordered: Iterable[str], present: Iterable[str]) -> dict[str, Look]:
    """Choose the colour and marker of every interconnect by its name, the same in all studies.

    Sites of an interconnect share its colour. If two interconnects would share colour and marker, the later
    of them takes the next free marker.

    Parameters
    ----------
    ordered : iterable of str
        Interconnects in the order of the study.
    present : iterable of str
        Interconnects of the data. Interconnects that the study does not name follow alphabetically.
    """
    chosen: dict[str, Look] = {}
    for name in [*ordered, *sorted(set(present) - set(ordered))]:
        colour, marker = _preferred(name)
        candidates = [
            Look(COLOURS[(colour + shift) % len(COLOURS)], MARKERS[(marker + step) % len(MARKERS)])
            for shift in range(len(COLOURS))
            for step in range(len(MARKERS))
        ]
        chosen[name] = next((look for look in candidates if look not in chosen.values()), candidates[0])
    return chosen


def _preferred(name: str) -> tuple[int, int]:
    """Return the preferred indices of colour and marker, from `NAMES_BY_COLOUR` or a checksum of the name.

    The index of the marker may exceed the number of markers.
    """
    interconnect, _, site = name.partition("@")
    marker_shift = crc32(site.encode()) if site else 0
    for colour, names in enumerate(NAMES_BY_COLOUR):
        if interconnect in names.split():
            place = names.split().index(interconnect)
            return colour, colour + 3 * place + marker_shift
    checksum = crc32(interconnect.encode())
    return checksum % len(COLOURS), checksum // len(COLOURS) + marker_shift


def placed(look: Look, processes_per_node: float | None) -> Look:
    """Change the look of an interconnect for a placement, with another marker and tint per doubling.

    The look is unchanged if `processes_per_node` is missing, since then the study does not vary placement.
    """
    if processes_per_node is None or is_missing(processes_per_node):
        return look
    doublings = round(math.log2(max(processes_per_node, 1)))
    share = TINTS[doublings % len(TINTS)]
    red, green, blue = (channel + (1 - channel) * share for channel in to_rgb(look.colour))
    tint = to_hex((red, green, blue))
    return Look(tint, MARKERS[(MARKERS.index(look.marker) + doublings) % len(MARKERS)])


def line_of(kind: str) -> LineStyle:
    """Return the line style of a kind of runs."""
    return LINES.get(kind, OTHER_LINE)


SERIAL_LOOK = Look(INK, "8")


@dataclass(frozen=True)
class FigureLabels(Labels):
    """Labels with the look of every interconnect; see `looks`."""

    looks: Mapping[str, Look]

    @classmethod
    def of(cls, facts: Facts, present: Iterable[str] = ()) -> FigureLabels:
        """Make the labels of a study; `looks` covers the interconnects of its facts and of `present`."""
        return cls(facts, looks(facts.interconnects, present))

    def look(self, interconnect: object, processes_per_node: float | None = None) -> Look:
        """Return the look of a curve of an interconnect, or of the serial run."""
        if is_missing(interconnect):
            return SERIAL_LOOK
        return placed(self.looks[str(interconnect)], processes_per_node)
