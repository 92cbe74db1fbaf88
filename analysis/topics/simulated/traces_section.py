"""The section on replayed traces: how they were taken, what they communicate, where their time goes."""

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
from analysis.runs.side_tables import FACTORS, with_fewest_threads

HOW = (
    "A trace holds what every rank computes and communicates in a few steps. Computing: CPU time of all "
    "ranks; of ranks of several threads, the time until the last thread is done. Over serial: "
    "that, times the threads, over the same steps in the serial run, or in serial runs beside. Another rank: "
    "how much longer a rank computes for each other rank that computes on the same node at the same time; "
    "ranks were timed alone and at once, and these are the ends of its band."
)
TIMED = {
    "alone": (
        "Timed alone: each rank ran again, several times, by itself on a core, its MPI calls answered "
        "from what was recorded, and sent the same as then. The middle one of its runs counts; "
        "the band holds nine tenths of them."
    ),
    "together": (
        "Timed together: computing was timed in the traced run. Where ranks shared a core, it took more CPU "
        "time than alone; the corrected times are scaled to the CPU time of the serial run. They and what "
        "was taken are the ends of the band."
    ),
}
"""How each kind of trace was timed."""
CORRECTED = {
    "none": "nothing",
    "serial_sum": "the serial CPU time",
    "serial_beside": "serial runs beside it",
}
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
"""What operations between two ranks are called; collective calls keep their names."""
_ENDS = {"recv", "irecv", "wait"}
"""The other ends of operations that are counted where they are issued."""
UNEVEN_PERCENT = 10
"""Where traced steps are further apart, the report says so."""


def traces(content: Content) -> Section | None:
    """Traces of a study that replayed some: how they were taken, and what is in them."""
    if "traces" not in content.tables:
        return None
    labels, tables = content.labels, content.tables
    timings = [text for timing, text in TIMED.items() if (tables["traces"]["timing"] == timing).any()]
    blocks: list[Block] = [on_screen(paragraph(text)) for text in (HOW, *timings)]
    blocks += [paragraph(text) for text in _together(tables["traces"], labels)]
    blocks += [paragraph(text) for text in _indicative(tables["traces"], labels)]
    blocks += [paragraph(text) for text in _uneven(tables["traces"], labels)]
    blocks.append(_traces_table(tables["traces"], labels))
    if "trace_profile" in tables:
        blocks.append(_profile_table(tables["trace_profile"], labels))
    blocks += content.figures("trace_pairs")
    if "simulated_efficiency" in tables:
        blocks.append(_efficiency_table(content))
    blocks += content.figures("simulated_times")
    return section("traces", "Traces: computing and communication", blocks)


def _together(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Which traces were not timed alone, by the reason that the tracer gave."""
    together = rows[rows["timing_reason"].notna()].groupby("timing_reason", sort=False)
    return [
        f"Timed together, and not each rank alone: {_named(own, labels)}. The tracer says: {reason}."
        for reason, own in together
    ]


def _indicative(rows: pd.DataFrame, labels: Labels) -> list[str]:
    rows = rows[rows["indicative"]]
    alone = rows["timing"] == "alone"
    reasons = {
        "repeats of ranks alone are fewer than three or differ by more than 10 %": rows[alone],
        "ranks together took far more or less CPU time than the serial run, or waited": rows[~alone],
    }
    return [
        f"Indicative only, since {reason}: {_named(own, labels)}."
        for reason, own in reasons.items()
        if not own.empty
    ]


def _uneven(rows: pd.DataFrame, labels: Labels) -> list[str]:
    uneven = rows[rows["step_spread_percent"] > UNEVEN_PERCENT]
    if uneven.empty:
        return []
    most = uneven["step_spread_percent"].max()
    return [
        f"Traced steps are up to {most:.0f} % apart: {_named(uneven, labels)}. "
        "More of them (simulation.steps) would say more of those that were not traced."
    ]


def _named(rows: pd.DataFrame, labels: Labels) -> str:
    """Cases and process counts of traces."""
    return "; ".join(
        f"{labels.case(case)} on {listed(map(str, sorted(own['processes'])))} "
        f"{'process' if own['processes'].eq(1).all() else 'processes'}"
        for case, own in rows.groupby("case", sort=False)
    )


def _traces_table(rows: pd.DataFrame, labels: Labels) -> Block:
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
        texts("Corrected by", lambda way: CORRECTED[way], "correction"),
    ]
    lines = labels.lines(rows, "case", "processes", "threads")
    return line_table("Traces that were replayed.", fields, lines, lambda line: labels.case(line["case"]))


def _with_threads(processes: int, threads: int) -> str:
    return formats.whole(processes) + (f" × {threads} threads" if threads > 1 else "")


def _corun(percent: float, low: float, high: float) -> str:
    return MISSING if is_missing(percent) else f"{formats.whole(low)}–{formats.whole(high)}"


def _profile_table(profile: pd.DataFrame, labels: Labels) -> Block:
    """Calls and bytes by operation and size, of each case at its largest process count."""
    profile = with_fewest_threads(profile)
    most = profile["processes"] == profile.groupby("case")["processes"].transform("max")
    rows = profile[most & ~profile["operation"].isin(_ENDS)]
    rows = rows.assign(whole=rows.groupby("case")["bytes"].transform("sum"))

    def title(line: Line) -> str:
        return f"{labels.case(line['case'])}, {formats.counted(line['processes'], 'process')}"

    def share(own: float, whole: float) -> str:
        return formats.fixed(100 * own / whole, 1) if whole else MISSING

    fields = [
        texts("Operation", lambda name: OPERATIONS.get(name, name), "operation"),
        numbers("Size", _size_class, "largest_bytes"),
        numbers("Calls in a step", number, "calls"),
        numbers("kB in a step", lambda size: number(size / 1000), "bytes"),
        numbers("Share of the bytes (%)", share, "bytes", "whole"),
    ]
    caption = (
        "What all ranks communicate in a step, by operation and size of the message, at the largest process "
        "count; receives and waits, the other ends of these, are left out. All counts are in "
        "tables/trace_profile.csv. The size of a collective call is what a rank contributes."
    )
    return line_table(caption, fields, labels.lines(rows, "case"), title)


def _size_class(largest: object) -> str:
    if is_missing(largest):
        return "larger"
    return f"≤ {size_text(largest)}" if largest else size_text(0)


def _efficiency_table(content: Content) -> Block:
    """Factors of the efficiency of each simulated curve, at its peak and at the largest process count."""
    rows, labels = content.tables["simulated_efficiency"], content.labels
    peaks = content.tables["peaks"]
    at_peak = peaks.loc[peaks["kind"] == "simulated", ["case", "interconnect", "peak_processes"]]
    rows = rows.merge(at_peak, on=["case", "interconnect"], how="left")
    largest = rows["processes"] == rows.groupby("case")["processes"].transform("max")
    rows = rows[largest | (rows["processes"] == rows["peak_processes"])]
    heads = ("Parallel efficiency (%)", "Load balance (%)", "Serialisation (%)", "Transfer (%)")
    shares = zip(heads, ("parallel_efficiency", *FACTORS), strict=True)
    fields = [
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        *(numbers(head, lambda share: formats.whole(100 * share), name) for head, name in shares),
    ]
    caption = (
        "Where efficiency is lost, at the peak and at the largest process count. Load balance: mean "
        "computing time over the largest. Serialisation: this over the time if messages cost nothing. "
        "Transfer: that over the time. The product of the three is the parallel efficiency, of the factors "
        "of the POP centre of excellence; it does not hold what being parallel adds to the computing itself."
    )
    lines = labels.lines(rows, "case", "interconnect", "processes")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))
