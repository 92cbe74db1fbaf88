"""The scaling table of a proposal as text, for LaTeX, for Word and for a printed page."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import docx
import pandas as pd
from docx.enum.section import WD_ORIENT
from docx.shared import Pt

from analysis.presentation import formats
from analysis.presentation.labels import Labels
from analysis.runs.errors import one_line
from analysis.runs.frames import CURVE, Line, as_lines, is_missing
from analysis.runs.settings import Rule
from analysis.topics.proposal.topic import UNTESTED

_HEADINGS = {"speedup_per_doubling": "Speedup per doubling"}
"""Headings of judged quantities that need an extra column."""
_ENDS = {
    "fail": "fails at {} ranks",
    "undecided": "is undecided at {} ranks",
    UNTESTED[1]: "would fail at {} ranks (untested)",
}
"""Text about the first count that does not pass, by its verdict."""


@dataclass(frozen=True)
class Sheet:
    """The scaling table of a curve and its caption, as text.

    Attributes
    ----------
    title : str
        Case and interconnect.
    reading : str
        Explanation of times, brackets and the reference of the speedup.
    rule, outcome : str
        The rule, and the counts that pass it.
    header, rows : tuple
        Texts; each row is as long as the header.
    """

    title: str
    reading: str
    rule: str
    outcome: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def caption(self) -> str:
        """Text above the table."""
        return f"{self.title} {self.reading} {self.rule} {self.outcome}"


def sheets(table: pd.DataFrame, rule: Rule, labels: Labels) -> list[Sheet]:
    """Make one sheet per curve of the table ``proposal``, judged by `rule`."""
    cells = table.astype(object).where(table.notna(), None)
    curves = table.groupby(CURVE, sort=False, dropna=False)
    return [_sheet(rows, cells.loc[rows.index], rule, labels) for _, rows in curves]


def _sheet(rows: pd.DataFrame, cells: pd.DataFrame, rule: Rule, labels: Labels) -> Sheet:
    """Make the sheet of a curve from its rows; `cells` are the same rows with None for missing values."""
    extra_heading = [_HEADINGS[rule.quantity]] if rule.quantity in _HEADINGS else []
    header = ["Nodes", "Ranks", "Ranks per node", "Time (s)", "n", labels.speedup.capitalize(), "Efficiency"]
    header += ["Incremental efficiency", "Node hours", *extra_heading, "Verdict"]
    return Sheet(
        title=_title(rows.iloc[0].to_dict(), labels),
        reading=_reading(rows, labels),
        rule=rule_text(rule),
        outcome=outcome_text(rows),
        header=tuple(header),
        rows=tuple(_cells(line, bool(extra_heading)) for line in as_lines(cells)),
    )


def _cells(line: Line, with_value: bool) -> tuple[str, ...]:
    """Write the cells of a point; `with_value` adds the quantity that the rule judges."""

    def with_interval(name: str) -> str:
        value, low, high = (line[f"{name}{end}"] for end in ("", "_low", "_high"))
        return formats.bracketed(value, *((None, None) if low == high else (low, high)))

    return (
        formats.whole(line["nodes"]),
        formats.whole(line["ranks"]),
        f"{line['ranks_per_node']:.3g}" if line["ranks_per_node"] else formats.MISSING,
        with_interval("seconds"),
        formats.whole(line["n"]),
        with_interval("speedup"),
        with_interval("efficiency"),
        with_interval("incremental_efficiency"),
        formats.number(line["node_hours"]),
        *([with_interval("value")] if with_value else []),
        formats.MISSING if is_missing(line["verdict"]) else line["verdict"],
    )


def _title(row: Line, labels: Labels) -> str:
    name = labels.curve(row)
    if row["oversubscription"] > 1:
        name += f", {row['oversubscription']} processes per core"
    return f"{labels.case(row['case'])} over {name}."


def _reading(rows: pd.DataFrame, labels: Labels) -> str:
    """Explain the times, the reference of the speedup and the brackets of a sheet."""
    first = rows.iloc[0].to_dict()
    times = "simulated" if first["kind"] == "simulated" else "medians over n blocks"
    text = f"Times are {times}. {labels.speedup.capitalize()} is relative to {_reference(first, labels)}."
    if rows["speedup_low"].notna().any():
        text += f" Brackets contain {labels.intervals(rows, times=True)}."
    return text


def rule_text(rule: Rule) -> str:
    """Write a rule with its source and its note."""
    note = one_line(rule.note)
    return f"Rule: {one_line(rule.title)} ({one_line(rule.source)}).{f' {note}' if note else ''}"


def _reference(row: Line, labels: Labels) -> str:
    """Describe the run that the speedup refers to, with its time."""
    time = formats.seconds(row["reference_seconds"])
    if is_missing(row["reference_interconnect"]):
        return f"the serial run of {time}"
    count = formats.counted(row["reference_processes"], "process")
    return f"{count} over {labels.interconnect(row['reference_interconnect'], row['kind'])} in {time}"


_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    formats.THIN: r"\,",
    formats.SPACE: "~",
    formats.MINUS: "$-$",
    formats.MISSING: "--",
    "∞": r"$\infty$",
    "×": r"$\times$",
    "≥": r"$\geq$",
}


def latex_text(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def to_latex(shown: Sequence[Sheet]) -> str:
    """Write tables for a LaTeX document that loads ``booktabs`` and ``graphicx``.

    Each table is at most as wide as the text.
    """
    tables = []
    for sheet in shown:
        lines = [r"\begin{table}", r"  \centering", f"  \\caption{{{latex_text(sheet.caption)}}}"]
        lines += [r"  \resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"]
        lines += [f"  \\begin{{tabular}}{{{'r' * (len(sheet.header) - 1)}l}}", r"    \toprule"]
        lines += [f"    {_latex_row(sheet.header)}", r"    \midrule"]
        lines += [f"    {_latex_row(row)}" for row in sheet.rows]
        lines += [r"    \bottomrule", r"  \end{tabular}}", r"\end{table}"]
        tables.append("\n".join(lines))
    return "\n\n".join(tables) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(latex_text(cell) for cell in cells) + r" \\"


def write_word(shown: Sequence[Sheet], path: str | Path, title: str) -> None:
    """Write tables to a Word document in landscape format.

    The file is complete or does not appear.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    document = docx.Document()
    section = document.sections[0]
    section.orientation = WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = section.page_height, section.page_width
    document.add_heading(one_line(title), level=1)
    for sheet in shown:
        document.add_paragraph(one_line(sheet.caption))
        table = document.add_table(rows=0, cols=len(sheet.header), style="Light Grid Accent 1")
        for row in (sheet.header, *sheet.rows):
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.paragraphs[0].add_run(one_line(text)).font.size = Pt(8)
        document.add_paragraph()
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix=".word-", dir=path.parent) as folder:
        document.save(str(Path(folder) / path.name))
        (Path(folder) / path.name).replace(path)


def outcome_text(rows: pd.DataFrame) -> str:
    """State up to which number of ranks a curve passes, from its rows of the table ``proposal``."""
    judged = rows.dropna(subset="verdict").sort_values("ranks")
    if judged.empty:
        return "The rule judges none of these runs."
    # A count is in a series if all smaller counts are in it too.
    passes = judged["verdict"].eq("pass").cummin()
    may_pass = judged["verdict"].isin(["pass", UNTESTED[0]]).cummin()
    outcomes = [f"passes up to {judged.loc[passes, 'ranks'].max()} ranks"] if passes.any() else []
    if may_pass.sum() > passes.sum():
        outcomes.append(f"would pass up to {judged.loc[may_pass, 'ranks'].max()} ranks (untested)")
    outcomes = outcomes or ["passes at no number of ranks"]
    if not may_pass.all():
        first = judged[~may_pass].iloc[0]
        outcomes.append(_ENDS[first["verdict"]].format(first["ranks"]))
    return f"The curve {formats.listed(outcomes)}."
