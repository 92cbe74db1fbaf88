"""The look of all figures: sizes, ink, and one colour, marker and line style per interconnect."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.runs.facts import AboutInterconnect, Facts
from analysis.tables.missing import is_missing
from analysis.text.labels import DIRECT, Labels

INK = "#1c1c1c"
PAPER = "#ffffff"
GRID = "#e3e3e3"
IDEAL = "#9b9b9b"
SHADE = "#f3f3f3"

# Luminance differs between any two of the first four by at least 14 CIELAB units, between any two by 6:
# they stay apart in grey print and for colour-blind readers.
COLOURS = (
    "#044883", "#eb8237", "#03795d", "#530115", "#e5c040",
    "#ee5299", "#793aa5", "#1bc0e9", "#043d3a", "#0a82c7",
)  # fmt: skip
# As many as share no divisor with the colours, so that the pairs repeat only after 110 interconnects.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
FAMILIES = (
    ("rdma|roce|myrinet.*tcp", 5),
    ("ten_gigabit", 1),
    ("loopback", 7),
    ("gigabit", 0),
    ("shared_memory", 8),
    ("infiniband_fdr", 9),
    ("infiniband_edr|myrinet", 3),
    ("infiniband|verbs", 2),
    ("quadrics|elan", 4),
    ("sci|tofu", 6),
)
"""Place of the colour of names that match; the first match counts."""
LINES = {"measured": "-", "emulated": (0, (4, 1.6)), "simulated": (0, (1, 1.4)),
         "published": (0, (5, 1.4, 1, 1.4))}  # fmt: skip
OTHER_LINE = (0, (3, 1.2, 1, 1.2, 1, 1.2))
TINTS = (0.0, 0.4, 0.2, 0.6)
"""Share of white in the colours of curves of one interconnect that differ in their placement."""
EXTRAPOLATED = (0, (3, 2))
HATCHES = ("", "/////", "xxxxx", ".....", "-----", "|||||")

WIDTH = 6.7
"""Width of a figure in inches: as wide as the text on A4 with margins of 2 cm."""

RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.2,
    "hatch.linewidth": 0.5,
    "hatch.color": PAPER,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "legend.columnspacing": 1.6,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "none",
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Look:
    """Colour and marker of an interconnect."""

    colour: str
    marker: str


def looks(known: Mapping[str, AboutInterconnect], present: Iterable[str]) -> dict[str, Look]:
    """Colour and marker of every interconnect: the same in every study, by its name.

    Only where two of one kind would share a colour does the later one take the next free one:
    later in the study's order, then alphabetically for those `present` that the study does not name.
    """
    made: dict[str, Look] = {}
    taken: Counter[tuple[int, str]] = Counter()
    for name in [*known, *sorted(set(present) - set(known))]:
        kind = known[name].kind or DIRECT if name in known else DIRECT
        first = _wanted(name)
        places = [(first + step) % len(COLOURS) for step in range(len(COLOURS))]
        place = min(places, key=lambda place: taken[place, kind])
        taken[place, kind] += 1
        others = sum(look.colour == COLOURS[place] for look in made.values())
        made[name] = Look(COLOURS[place], MARKERS[(place + 3 * others) % len(MARKERS)])
    return made


def _wanted(name: str) -> int:
    """Place of the colour that a name would have: that of its family, else one from its letters."""
    base = name.partition("@")[0]
    of_family = (place for pattern, place in FAMILIES if re.search(pattern, base))
    return next(of_family, zlib.crc32(base.encode()) % len(COLOURS))


def placed(look: Look, processes_per_node: float | None) -> Look:
    """Look of a curve of an interconnect whose curves differ in their placement.

    Every doubling of the processes per node has another marker and tint, the same in all figures. They are
    missing where placement does not vary: that is the `look` of the interconnect.
    """
    if is_missing(processes_per_node):
        return look
    doublings = round(math.log2(max(processes_per_node, 1)))
    share = TINTS[doublings % len(TINTS)]
    channels = (int(look.colour[start : start + 2], 16) for start in (1, 3, 5))
    tint = "".join(f"{round(channel + (255 - channel) * share):02x}" for channel in channels)
    return Look(f"#{tint}", MARKERS[(MARKERS.index(look.marker) + doublings) % len(MARKERS)])


def line_of(kind: str) -> str | tuple:
    """Give a kind its line: measured solid, emulated dashed, simulated dotted, published dash-dot."""
    return LINES.get(kind, OTHER_LINE)


SERIAL_LOOK = Look(INK, "8")


@dataclass(frozen=True)
class FigureLabels(Labels):
    """Labels of a study's figures: names, and the look of every interconnect as `looks` gives it."""

    looks: Mapping[str, Look]

    @classmethod
    def of(cls, facts: Facts, present: Iterable[str] = ()) -> FigureLabels:
        """Labels with the looks of the interconnects of the facts and of those that are `present` besides."""
        return cls(facts, looks(facts.interconnects, present))

    def look(self, interconnect: object, processes_per_node: float | None = None) -> Look:
        """Look of a curve of an interconnect; a serial run, which has none, has a look of its own."""
        if is_missing(interconnect):
            return SERIAL_LOOK
        return placed(self.looks[str(interconnect)], processes_per_node)
