"""Titles of cases, interconnects, curves and intervals, from the facts of a study."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from analysis.presentation.formats import THIN, exact, listed, percent, plain
from analysis.runs.errors import one_line
from analysis.runs.facts import Facts, Pairs
from analysis.runs.frames import Line, as_float, as_lines, is_missing
from analysis.runs.kinds import side
from analysis.runs.settings import DISTINGUISHABLE

SERIAL = "Serial run"
LEVEL_OF_TESTS = f"{exact(100 * (1 - DISTINGUISHABLE))}{THIN}%"
"""Confidence of intervals that match the tests."""
BAND = "the uncertainty band of the simulation"
DIRECT = "measured"
SHORT = {"10 Gigabit Ethernet": "10GigE", "Gigabit Ethernet": "GigE", "PCI Express": "PCIe"}
"""Abbreviations in names, longer words first."""
KINDS = {"emulated": "emu", "simulated": "sim", "published": "pub"}
"""Abbreviations of kinds in names."""
_WORDS = {"ethernet": "Ethernet", "gigabit": "Gigabit", "infiniband": "InfiniBand", "ipoib": "IPoIB",
          "myrinet": "Myrinet", "quadrics": "Quadrics", "ten": "10", "tofu": "Tofu", "pcie": "PCIe",
          "pcix": "PCI-X", "elan3": "Elan3", "elan4": "Elan4"}  # fmt: skip
_LETTERS = re.compile("mpi|rdma|sci|tcp|udp|[sdqfehn]dr")


@dataclass(frozen=True)
class Labels:
    """Titles of the cases and interconnects of a study. A name without a title in the facts is its own title.

    Attributes
    ----------
    facts : Facts
    full : bool
        Whether titles of interconnects are complete. Otherwise they are abbreviated.
    given : str
        ``with kind`` or ``without kind`` if titles of interconnects keep the user's words up to the first
        comma; else empty.
    """

    facts: Facts
    full: bool = field(default=False, kw_only=True)
    given: Literal["", "with kind", "without kind"] = field(default="", kw_only=True)

    def case(self, name: str) -> str:
        """Return the title of a case."""
        return one_line(self.facts.case(name).title or name.replace("_", " "))

    def interconnect(self, name: object, kind: str | None = None) -> str:
        """Return the title of an interconnect, with its kind unless it is measured; see `short_name`.

        If `kind` is None, the facts decide the kind. A missing name means the serial run.
        """
        if is_missing(name):
            return SERIAL if kind in (None, DIRECT) or is_missing(kind) else f"{SERIAL} ({kind})"
        if kind is None:
            kind = self.facts.interconnect(str(name)).kind or DIRECT
        if self.given:
            return _with_kind(self.cut(name), kind if self.given == "with kind" else None)
        return _with_kind(self.full_name(name), kind) if self.full else short_name(self.cut(name), kind)

    @property
    def interconnect_head(self) -> str:
        """Head of a column of interconnects: ``System`` if the study states that their nodes differ."""
        types = {interconnect.node_type for interconnect in self.facts.interconnects.values()}
        return "System" if len(types - {None}) > 1 else "Interconnect"

    @property
    def noun(self) -> str:
        """Noun for what the study compares: ``system`` if the study states that nodes differ."""
        return self.interconnect_head.lower()

    def full_name(self, name: object) -> str:
        """Return the complete title of an interconnect."""
        return one_line(self.facts.interconnect(str(name)).title or name)

    def cut(self, name: object) -> str:
        """Return the title of an interconnect up to its first comma.

        The title is not cut if another title of the study has the same beginning, or if the beginning is the
        name of another interconnect.
        """
        title = self.full_name(name)
        beginning, comma, _ = title.partition(", ")
        taken = [_beginning(self.full_name(other)) for other in self.facts.interconnects]
        taken += [other for other in self.facts.interconnects if other != name]
        return beginning if comma and taken.count(beginning) == 1 else title

    def curve(self, row: Line, level: bool = False) -> str:
        """Return the title of the curve of a row: the interconnect, and its processes per node if these vary.

        If `level` is true, the title also states the oversubscription.
        """
        title = self.placed(row["interconnect"], row["kind"], row.get("processes_per_node"))
        return f"{title}, oversubscription {row['oversubscription']}" if level else title

    def compared(self, row: Line) -> str:
        """Return the title of the curve that a row compares with a baseline."""
        return self.curve({**row, "kind": side(row["kind"], 1)})

    def baseline(self, row: Line) -> str:
        """Return the title of the baseline of a row."""
        return self.placed(row["baseline_interconnect"], side(row["kind"], 0), row["processes_per_node"])

    def placed(self, interconnect: object, kind: str, placement: object) -> str:
        """Return the title of an interconnect, with its processes per node unless `placement` is missing."""
        name = self.interconnect(interconnect, kind)
        if is_missing(placement):
            return name
        noun = "process" if placement == 1 else "processes"
        return f"{name} with {plain(as_float(placement))} {noun} per node"

    def explain(self, rows: pd.DataFrame) -> str:
        """Explain the abbreviated and cut titles of the curves in `rows`; empty if there are none."""
        titles = " ".join(map(self.curve, as_lines(rows)))
        words = {short: long for long, short in SHORT.items()}
        words |= {tag: f"{kind} results" for kind, tag in KINDS.items()}
        abbreviations = [
            f"{short} means {word}" for short, word in words.items() if re.search(rf"\b{short}\b", titles)
        ]
        names = rows["interconnect"].unique()
        cut_titles = [self.full_name(name) for name in names if self.full_name(name) != self.cut(name)]
        sentences = [f"In names, {listed(abbreviations)}."] if abbreviations else []
        quoted = [f"“{title}”" for title in cut_titles]
        if len(quoted) == 1:
            sentences.append(f"The full name of {cut_titles[0].partition(', ')[0]} is {quoted[0]}.")
        elif quoted:
            sentences.append(f"Full names: {listed(quoted)}.")
        return " ".join(sentences)

    @property
    def weak(self) -> bool:
        """Whether scaling is weak, so that sizes grow with the processes."""
        return self.facts.study.scaling == "weak"

    @property
    def speedup(self) -> str:
        """Name of the speedup, which weak scaling calls scaled speedup."""
        return "scaled speedup" if self.weak else "speedup"

    @property
    def title(self) -> str:
        """Title of the report."""
        study = self.facts.study
        return one_line(study.title or study.name or "Scaling study")

    @property
    def subtitle(self) -> str:
        """Name of the study, day of the results, and version of Nodeworth."""
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

    def intervals(
        self, rows: pd.DataFrame, times: bool = False, comparisons: pd.DataFrame | None = None
    ) -> str:
        """Name the intervals of `times`, or of quantities derived from times. Simulated rows have a band.

        The text ends a sentence. Exceptions follow as further sentences, the last without its full stop.
        Intervals of few runs are less certain. `comparisons` are rows of ``improvement`` in the same table.
        """
        kinds = set(rows["kind"])
        if kinds == {"simulated"}:
            return BAND
        sentences = [f"{self.confidence} intervals"]
        sentences += [self._coverage_of_times(rows["coverage"].dropna())] if times else []
        if comparisons is not None:
            coverages = comparisons.loc[comparisons["improvement_low"].notna(), "coverage"].dropna()
            if len(coverages) and coverages.min() < self.facts.settings.level - 0.005:
                least = exact(round(100 * coverages.min(), 1))
                sentences.append(
                    f"For comparisons with few runs, the nominal confidence is lower, down to {least}{THIN}%"
                )
        if any("simulated" in kind for kind in kinds):
            sentences.append(f"Simulated values have {BAND} instead")
        return ". ".join(filter(None, sentences))

    def _coverage_of_times(self, coverages: pd.Series) -> str:
        """Write the coverage of the intervals of times if it differs from the nominal coverage; else empty.

        Intervals of times end at measured values, so only some coverages can be attained.

        Parameters
        ----------
        coverages : Series
            Attained coverage of each interval, 0 to 1; may be empty.
        """
        nominal = exact(round(100 * self.facts.settings.level, 1))
        shares = [exact(round(100 * share, 1)) for share in sorted({coverages.min(), coverages.max()})]
        differs = len(coverages) and set(shares) != {nominal}
        if not differs:
            return ""
        instead = f" instead of {self.confidence}"
        end = ", depending on the number of runs" if len(shares) > 1 else ""
        return f"Intervals of times have a confidence of {' to '.join(shares)}{THIN}%{instead}{end}"

    def times(self, rows: pd.DataFrame) -> str:
        """Name the times of `rows` for a caption: medians of repeated runs, or simulated times."""
        return "simulated times" if set(rows["kind"]) == {"simulated"} else "medians of repeated runs"

    @property
    def declared(self) -> Pairs:
        """Pairs of kinds that the study declares comparable."""
        return self.facts.study.compare_kinds

    def sorted_cases(self, present: Iterable[str]) -> list[str]:
        """Sort the cases that are present by the order of the study, then alphabetically."""
        return _sorted_by(self.facts.cases, present)

    def sorted_interconnects(self, present: Iterable[str]) -> list[str]:
        """Sort the interconnects that are present by the order of the study, then alphabetically."""
        return _sorted_by(self.facts.interconnects, present)

    def place(self, interconnect: object) -> tuple[int, str]:
        """Return the sort key of an interconnect in the order of the study; the serial run comes first."""
        if is_missing(interconnect):
            return -1, ""
        return _place_in(self.facts.interconnects)(str(interconnect))

    def by_case(self, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Split `rows` by case, in the order of the study."""
        for case in self.sorted_cases(rows["case"]):
            yield case, rows[rows["case"] == case]

    def in_order(self, rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
        """Sort rows by columns, with names in the order of the study and the serial run first."""
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
        """Sort rows as `in_order` does, and return them as mappings."""
        return as_lines(self.in_order(rows, *keys))


def correction_of(facts: Facts) -> str:
    """Name the correction of p-values."""
    has_looks = max(facts.study.looks.values(), default=1) > 1
    return "Holm's correction" + (" and a factor for earlier reports" if has_looks else "")


def level_of(facts: Facts) -> str:
    """Write the confidence of intervals that match tests of the runs of all cases."""
    return f"{exact(100 * (1 - facts.all_settings().alpha))}{THIN}%"


def short_name(title: str, kind: str | None) -> str:
    """Abbreviate a title, and append its kind unless it is measured.

    Examples
    --------
    >>> short_name("10 Gigabit Ethernet (2003)", "simulated"), short_name("infiniband_qdr", "published")
    ('10GigE (2003, sim)', 'InfiniBand QDR (pub)')
    """
    name, bracket, rest = title.partition(" (")
    if name == name.lower():
        title = " ".join(map(_capitalised, re.split("[_ ]", name))) + bracket + rest
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


def _capitalised(word: str) -> str:
    return word.upper() if _LETTERS.fullmatch(word) else _WORDS.get(word, word)


def _sorted_by(order: Iterable[str], present: Iterable[str]) -> list[str]:
    return sorted(pd.unique(pd.Series(present)), key=_place_in(order))


def _place_in(order: Iterable[str]) -> Callable[[str], tuple[int, str]]:
    """Return a sort key: the names of `order` first, then other names alphabetically."""
    places = {name: place for place, name in enumerate(order)}
    return lambda name: (places.get(name, len(places)), name)
