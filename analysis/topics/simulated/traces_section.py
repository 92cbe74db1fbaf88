"""The section on replayed traces: timing, communication, and parts of the time."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, on_screen, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, listed, number
from analysis.presentation.labels import Labels
from analysis.presentation.network_words import size_text
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import Line, as_float, is_missing
from analysis.runs.settings import FEWEST_REPEATS
from analysis.runs.side_tables import FACTORS, with_fewest_threads
from analysis.topics.topic import Headline, Page

HOW = (
    "A trace contains the computing and communication of every rank in a few steps of a run. Column "
    "“Computing” shows the sum of the CPU times of all ranks. The computing of a rank with several threads "
    "lasts until its last thread ends. Column “Over serial” is a ratio: computing time × threads per rank / "
    "CPU time of the same steps in the serial run. Above 1, the ranks together compute longer than a serial "
    "run. Column “Another rank” shows the slowdown of a rank for each other rank that computes on its node. "
    "Nodeworth measured this slowdown by timing ranks alone and together."
)
TIMED = {
    "alone": (
        "In column “Timed”, “alone” means that each rank ran again several times, without messages from or "
        "to other ranks. Its MPI calls returned the data that the traced run had recorded. The computing "
        "time of the rank is the median of these repeats. Column “Band (s)” shows a range of the computing "
        "time of all ranks together, which contains 90\N{NARROW NO-BREAK SPACE}% of the repeats. Unlike "
        "column “Computing”, columns “Band (s)” and “Over serial” are corrected. Nodeworth corrects them for "
        "changes of the machine's speed, by the serial runs in column “Corrected by”. It also corrects them "
        "for the slowdown by ranks that ran at the same time."
    ),
    "together": (
        "In column “Timed”, “together” means that Nodeworth timed the computing in the traced run. Ranks on "
        "the same core take more CPU time than ranks that run alone. Nodeworth therefore scales the times to "
        "the CPU time of the serial run. The band reaches from the corrected to the measured time."
    ),
}
"""Explanation of each timing of traces."""
CORRECTED = {
    "none": "nothing",
    "serial_sum": "the serial CPU time",
    "serial_beside": "simultaneous serial runs",
}
"""Corrections of the computing time, in words."""
OPERATIONS = {
    "send": "send",
    "isend": "send, non-blocking",
    "put": "put",
    "get": "get",
    "accumulate": "accumulate",
    "fetch": "fetch and change",
    "flush": "completion at the target",
    "window": "window for one-sided calls",
}
"""Names of operations between two ranks; collective calls keep their names."""
_ENDS = {"recv", "irecv", "wait"}
"""Receiving operations. They are not counted, since the sending operations are counted (`OPERATIONS`)."""
UNEVEN_PERCENT = 10
"""Difference between the steps of a trace, in percent, above which the report mentions the trace."""


def traces(content: Content) -> Section | None:
    """Write the section on traces, their timing and their contents."""
    if "traces" not in content.tables:
        return None
    labels, tables = content.labels, content.tables
    timings = [text for timing, text in TIMED.items() if (tables["traces"]["timing"] == timing).any()]
    blocks: list[Block] = [on_screen(paragraph(text)) for text in (HOW, *timings)]
    for sentences in (_together_sentences, _indicative_sentences, _uneven_sentences):
        blocks += map(paragraph, sentences(tables["traces"], labels))
    blocks.append(_traces_table(tables["traces"], labels))
    if "trace_profile" in tables:
        blocks.append(_profile_table(tables["trace_profile"], labels))
    blocks += content.figures("trace_pairs")
    if "simulated_efficiency" in tables:
        blocks.append(_efficiency_table(content))
    blocks += content.figures("simulated_times")
    return section("traces", "Traces: computing and communication", blocks)


def traces_headline(page: Page) -> Headline | None:
    """Offer a caution for page one if predictions are only indicative."""
    made = page.content.tables.get("traces")
    if made is None or not made["indicative"].any():
        return None
    names = _names(made[made["indicative"]], page.content.labels)
    return Headline(
        cautions=[
            f"These simulated times are only indicative: {names}. Section “Traces: computing and "
            "communication” says why."
        ]
    )


def _together_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the traces that were not timed alone, by the tracer's reason."""
    together = rows[rows["timing_reason"].notna()].groupby("timing_reason", sort=False)
    return [
        f"In {_these(traces_of_reason)}, the ranks were timed together, not alone: "
        f"{_names(traces_of_reason, labels)}. Reason: {reason}."
        for reason, traces_of_reason in together
    ]


def _indicative_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the traces whose predictions are only indicative, by reason."""
    rows = rows[rows["indicative"]]
    is_alone, is_repeated = rows["timing"] == "alone", rows["repeats"] >= FEWEST_REPEATS
    reasons = {
        "each rank was timed alone fewer than three times": rows[is_alone & ~is_repeated],
        "the computing times of the repeats differ by more than 10 %": rows[is_alone & is_repeated],
        "ranks together took far more or less CPU time than the serial run, or waited": rows[~is_alone],
    }
    return [
        f"Predictions from {_these(traces_of_reason)} are only indicative: "
        f"{_names(traces_of_reason, labels)}. Reason: {reason}."
        for reason, traces_of_reason in reasons.items()
        if not traces_of_reason.empty
    ]


def _uneven_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the traces whose steps differ by more than `UNEVEN_PERCENT`."""
    uneven = rows[rows["step_spread_percent"] > UNEVEN_PERCENT]
    if uneven.empty:
        return []
    most = uneven["step_spread_percent"].max()
    return [
        f"The steps of {_these(uneven)} differ by up to {most:.0f} %: {_names(uneven, labels)}. "
        "More traced steps (simulation.steps) would represent a run better."
    ]


def _these(rows: pd.DataFrame) -> str:
    return "this trace" if len(rows) == 1 else "these traces"


def _names(rows: pd.DataFrame, labels: Labels) -> str:
    """List the cases of traces with their process counts."""
    names = []
    for case, counts in rows.groupby("case", sort=False)["processes"]:
        noun = "process" if max(counts) == 1 else "processes"
        names.append(f"“{labels.case(str(case))}” on {listed(map(str, sorted(counts)))} {noun}")
    return "; ".join(names)


def _traces_table(rows: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the traces with their computing time, its band and its correction."""

    def timed(timing: str, repeats: int) -> str:
        return f"alone, {formats.counted(repeats, 'time')}" if timing == "alone" else "together"

    fields = [
        numbers("Processes", _with_threads, "processes", "threads"),
        numbers("Cores", formats.whole, "cores"),
        numbers("Steps", formats.whole, "steps"),
        numbers("Serial CPU time (s)", number, "serial_seconds"),
        numbers("Computing (s)", number, "compute_seconds"),
        numbers("Over serial", number, "inflation"),
        numbers("CPU pressure (%)", lambda share: formats.whole(100 * as_float(share)), "noise"),
        numbers("Band (s)", lambda *ends: "–".join(map(number, ends)), "low_seconds", "high_seconds"),
        numbers("Another rank (%)", _corun, *(f"corun_percent{end}" for end in ("", "_low", "_high"))),
        texts("Timed", timed, "timing", "repeats"),
        texts("Clock", lambda clock: "CPU time" if clock == "thread_cpu" else clock, "clock"),
        texts("Corrected by", CORRECTED.__getitem__, "correction"),
    ]
    lines = labels.lines(rows, "case", "processes", "threads")
    return line_table("Replayed traces.", fields, lines, lambda line: labels.case(line["case"]))


def _with_threads(processes: int, threads: int) -> str:
    return formats.whole(processes) + (f" × {threads} threads" if threads > 1 else "")


def _corun(percent: float, low: float, high: float) -> str:
    return MISSING if is_missing(percent) else f"{formats.whole(low)}–{formats.whole(high)}"


def _profile_table(profile: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate calls and bytes by operation and size, for each case at its largest process count."""
    profile = with_fewest_threads(profile)
    most = profile["processes"] == profile.groupby("case")["processes"].transform("max")
    rows = profile[most & ~profile["operation"].isin(_ENDS)]
    rows = rows.assign(total=rows.groupby("case")["bytes"].transform("sum"))

    def title(line: Line) -> str:
        return f"{labels.case(line['case'])}, {formats.counted(line['processes'], 'process')}"

    def share(part: float, total: float) -> str:
        return formats.fixed(100 * part / total, 1) if total else MISSING

    fields = [
        texts("Operation", lambda name: OPERATIONS.get(name, name), "operation"),
        numbers("Size", _size_class, "largest_bytes"),
        numbers("Calls per step", number, "calls"),
        numbers("kB per step", lambda size: number(size / 1000), "bytes"),
        numbers("Share of the bytes (%)", share, "bytes", "total"),
    ]
    caption = (
        "Communication of all ranks in one step at the largest process count. The table counts each message "
        "once, at the sender. The size of a collective call is the contribution of one rank. File "
        "tables/trace_profile.csv has all process counts."
    )
    return line_table(caption, fields, labels.lines(rows, "case"), title)


def _size_class(largest: float) -> str:
    if is_missing(largest):
        return "larger"
    return f"≤ {size_text(largest)}" if largest else size_text(0)


def _efficiency_table(content: Content) -> Block:
    """Tabulate the factors of efficiency of each simulated curve, at its peak and at the largest count."""
    rows, labels = content.tables["simulated_efficiency"], content.labels
    peaks = content.tables["peaks"]
    at_peak = peaks.loc[peaks["kind"] == "simulated", ["case", "interconnect", "peak_processes"]]
    rows = rows.merge(at_peak, on=["case", "interconnect"], how="left")
    is_largest = rows["processes"] == rows.groupby("case")["processes"].transform("max")
    rows = rows[is_largest | (rows["processes"] == rows["peak_processes"])]
    heads = ("Parallel efficiency (%)", "Load balance (%)", "Serialisation (%)", "Transfer (%)")
    shares = zip(heads, ("parallel_efficiency", *FACTORS), strict=True)
    fields = [
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        *(numbers(head, lambda share: formats.whole(100 * share), name) for head, name in shares),
    ]
    caption = (
        "Factors of the parallel efficiency, as the POP centre of excellence defines them. The table shows "
        "the process count with the highest speedup, and the largest process count. Load balance is a ratio: "
        "mean computing time of the ranks / largest computing time of a rank. The ideal run time is the run "
        "time if messages take no time. Serialisation is a ratio: largest computing time of a rank / ideal "
        "run time. Transfer is a ratio: ideal run time / run time. Parallel efficiency is the product of "
        "these three factors. The ranks together may compute longer than a serial run. Parallel efficiency "
        "does not account for this additional computing, unlike the efficiency in other tables."
    )
    lines = labels.lines(rows, "case", "interconnect", "processes")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))
