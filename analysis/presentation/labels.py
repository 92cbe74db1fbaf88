"""Titles of cases and interconnects as a study's facts give them, on one line each."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.presentation.formats import THIN, exact, percent, plain
from analysis.runs.errors import one_line
from analysis.runs.facts import Facts, Pairs
from analysis.runs.frames import Line, as_lines, is_missing
from analysis.runs.kinds import side

SERIAL = "Serial run"
BAND = "the band of the simulation"
DIRECT = "measured"
SHORT = {"10 Gigabit Ethernet": "10GigE", "Gigabit Ethernet": "GigE", "PCI Express": "PCIe"}
"""What a name says for these words, the longer ones first."""
KINDS = {"emulated": "emu", "simulated": "sim", "published": "pub"}
"""What a name says of its kind."""
_WORDS = {"ethernet": "Ethernet", "gigabit": "Gigabit", "infiniband": "InfiniBand", "ipoib": "IPoIB",
          "myrinet": "Myrinet", "quadrics": "Quadrics", "ten": "10", "tofu": "Tofu", "pcie": "PCIe",
          "pcix": "PCI-X", "elan3": "Elan3", "elan4": "Elan4"}  # fmt: skip
_LETTERS = re.compile("mpi|rdma|sci|tcp|udp|[sdqfehn]dr")


@dataclass(frozen=True)
class Labels:
    """Names of a study's tables as readers see them; one that its facts have no title of is its own.

    Names of interconnects are short, for a reader who has their table, or in `full` for one who has not.
    """

    facts: Facts
    full: bool = field(default=False, kw_only=True)

    def case(self, name: str) -> str:
        """Title of a case."""
        return one_line(self.facts.case(name).title or name.replace("_", " "))

    def interconnect(self, name: object, kind: str | None = None) -> str:
        """Title of an interconnect, with its kind unless it is measured: see `short_name`.

        Without a `kind`, the facts decide it. A missing name means the serial run.
        """
        if is_missing(name):
            return SERIAL if kind in (None, DIRECT) or is_missing(kind) else f"{SERIAL} ({kind})"
        if kind is None:
            kind = self.facts.interconnect(str(name)).kind or DIRECT
        return _with_kind(self.full_name(name), kind) if self.full else short_name(self.cut(name), kind)

    def full_name(self, name: object) -> str:
        """Title of an interconnect as its file has it."""
        return one_line(self.facts.interconnect(str(name)).title or name)

    def cut(self, name: object) -> str:
        """Title of an interconnect up to its first comma, if the study has no other that begins alike."""
        title = self.full_name(name)
        beginning, comma, _ = title.partition(",")
        alone = sum(_beginning(self.full_name(other)) == beginning for other in self.facts.interconnects) == 1
        return beginning if comma and alone else title

    def curve(self, row: Line, level: bool = False) -> str:
        """Title of the curve of a table's row: interconnect, and processes per node where they vary.

        With its oversubscription, if a reader has to be told the `level`.
        """
        title = self.placed(row["interconnect"], row["kind"], row.get("processes_per_node"))
        return f"{title}, oversubscription {row['oversubscription']}" if level else title

    def compared(self, row: Line) -> str:
        """Title of the curve that a row compares with a baseline."""
        return self.curve({**row, "kind": side(row["kind"], 1)})

    def baseline(self, row: Line) -> str:
        """Title of the baseline that a row has."""
        return self.placed(row["baseline_interconnect"], side(row["kind"], 0), row["processes_per_node"])

    def placed(self, interconnect: object, kind: str, placement: object) -> str:
        """Title of an interconnect with its processes per node, where they vary."""
        name = self.interconnect(interconnect, kind)
        if is_missing(placement):
            return name
        return f"{name} with {plain(placement)} {'process' if placement == 1 else 'processes'} per node"

    def explain(self, rows: pd.DataFrame) -> str:
        """Say what the short names of the curves in `rows` stand for; empty if all names are full."""
        used = " ".join(map(self.curve, as_lines(rows)))
        words = {short: long for long, short in SHORT.items()} | {tag: kind for kind, tag in KINDS.items()}
        shortened = [
            f"{short} is {word}" for short, word in words.items() if re.search(rf"\b{short}\b", used)
        ]
        names = rows["interconnect"].unique()
        cut = [full for name in names if (full := self.full_name(name)) != self.cut(name)]
        sentences = [f"Names: {', '.join(shortened)}."] * bool(shortened)
        sentences += [f"In full: {'; '.join(cut)}."] * bool(cut)
        return " ".join(sentences)

    @property
    def weak(self) -> bool:
        """Whether sizes grow with the processes: only where the study says so."""
        return self.facts.study.scaling == "weak"

    @property
    def speedup(self) -> str:
        """What speedup is called: weak scaling has a scaled one."""
        return "scaled speedup" if self.weak else "speedup"

    @property
    def title(self) -> str:
        """Heading of what is written about the study."""
        study = self.facts.study
        return one_line(study.title or study.name or "Scaling study")

    @property
    def subtitle(self) -> str:
        """The study's name, the day of its results, and what wrote it."""
        facts = self.facts
        words = [
            f"Study {facts.study.name}" if facts.study.name else "",
            (facts.made or "")[:10],
            f"Nodeworth {facts.version}" if facts.version else "Nodeworth",
        ]
        return one_line(" · ".join(filter(None, words)))

    @property
    def confidence(self) -> str:
        """Nominal coverage of the intervals, as text."""
        return percent(100 * self.facts.settings.level, places=0)

    def intervals(self, rows: pd.DataFrame, times: bool = False) -> str:
        """Name the intervals of `times`, or of what follows from times; simulated rows have a band."""
        kinds = set(rows["kind"])
        if kinds == {"simulated"}:
            return BAND
        name = (
            self._intervals_of_times(rows["coverage"].dropna()) if times else self.confidence + " intervals"
        )
        return name + (f" ({BAND} where simulated)" if any("simulated" in kind for kind in kinds) else "")

    def _intervals_of_times(self, covered: pd.Series) -> str:
        """Name intervals by their nominal coverage, and by what intervals of times cover if that differs.

        The interval of a time lies between two of its blocks, so that it cannot have just any coverage.
        """
        nominal = exact(round(100 * self.facts.settings.level, 1))
        shares = [exact(round(100 * share, 1)) for share in sorted({covered.min(), covered.max()})]
        differs = len(covered) and set(shares) != {nominal}
        others = f" ({' to '.join(shares)}{THIN}% for times)" if differs else ""
        return f"{nominal}{THIN}% intervals{others}"

    def times(self, rows: pd.DataFrame) -> str:
        """Name times by what they are: medians, or simulated."""
        return "simulated times" if set(rows["kind"]) == {"simulated"} else "medians over blocks"

    @property
    def declared(self) -> Pairs:
        """Pairs of kinds that the study declares comparable."""
        return self.facts.study.compare_kinds

    def sorted_cases(self, present: Iterable[str]) -> list[str]:
        """Cases that are present, in the study's order, then alphabetically."""
        return _sorted_by(self.facts.cases, present)

    def sorted_interconnects(self, present: Iterable[str]) -> list[str]:
        """Interconnects that are present, in the study's order, then alphabetically."""
        return _sorted_by(self.facts.interconnects, present)

    def place(self, interconnect: object) -> tuple[int, str]:
        """Where an interconnect stands in that order, as a key to sort by; the serial run is first."""
        if is_missing(interconnect):
            return -1, ""
        return _place_in(self.facts.interconnects)(str(interconnect))

    def by_case(self, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Split `rows` by case, in the study's order."""
        for case in self.sorted_cases(rows["case"]):
            yield case, rows[rows["case"] == case]

    def in_order(self, rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
        """Rows by `keys`, otherwise as they were; names in the study's order, the serial run first."""
        orders = {
            "case": self.facts.cases,
            "interconnect": self.facts.interconnects,
            "baseline_interconnect": self.facts.interconnects,
        }

        def places(column: pd.Series) -> pd.Series:
            if column.name not in orders:
                return column
            present = _sorted_by(orders[column.name], column.dropna())
            return column.map({name: place for place, name in enumerate(present)}).fillna(-1)

        return rows.sort_values(list(keys), key=places, kind="stable")

    def lines(self, rows: pd.DataFrame, *keys: str) -> list[dict[Hashable, Any]]:
        """Rows in that order as mappings."""
        return as_lines(self.in_order(rows, *keys))


def level_of(facts: Facts) -> str:
    """Level of the intervals that go by the level of tests, as text: 95 %, at a later look more."""
    return f"{exact(100 * (1 - facts.all_settings().alpha))}{THIN}%"


def short_name(title: str, kind: str | None) -> str:
    """Shorten a title, and name its kind unless that is measured.

    Examples
    --------
    >>> short_name("10 Gigabit Ethernet (2003)", "simulated"), short_name("infiniband_qdr", "published")
    ('10GigE (2003, sim)', 'InfiniBand QDR (pub)')
    """
    if title == title.lower():
        title = " ".join(map(_spoken, re.split("[_ ]", title)))
    for long, short in SHORT.items():
        title = title.replace(long, short)
    if kind in KINDS:
        title = title.replace(f" ({kind})", "").replace(f", {kind})", ")")
    return _with_kind(title, KINDS.get(str(kind), kind))


def _beginning(title: str) -> str:
    return re.split(r",| \(", title)[0]


def _with_kind(title: str, kind: str | None) -> str:
    if kind == DIRECT or is_missing(kind) or title.endswith((f"({kind})", f", {kind})")):
        return title
    kind = one_line(kind)
    return f"{title.removesuffix(')')}, {kind})" if title.endswith(")") else f"{title} ({kind})"


def _spoken(word: str) -> str:
    return word.upper() if _LETTERS.fullmatch(word) else _WORDS.get(word, word)


def _sorted_by(order: Iterable[str], present: Iterable[str]) -> list[str]:
    return sorted(pd.unique(pd.Series(present)), key=_place_in(order))


def _place_in(order: Iterable[str]) -> Callable[[str], tuple[int, str]]:
    """Give the key that sorts by an order: its names first, then the others alphabetically."""
    places = {name: place for place, name in enumerate(order)}
    return lambda name: (places.get(name, len(places)), name)
