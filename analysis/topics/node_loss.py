"""Does a run inside one node lose its efficiency to memory, communication, waiting or extra work?

The efficiency E = T(1) / (p T(p)) of a traced run is the product of four factors:

- work: CPU time of the serial run / CPU time of all ranks, each timed alone;
- memory: 1 / (1 + s (p - 1)). Each further computing rank on the node increases the computing time of a rank
  by the share s, which follows from re-runs of one rank and of several ranks at once
  (`workflows.tracing.alone`);
- waiting: load balance × serialisation of the trace, replayed with messages that take no time;
- communication: E / product of the other factors. It includes all causes that the trace does not show.

The memory bandwidth B bounds the memory factor. If all computing waited for memory, it would take p B(1) /
B(p) times as long. B comes from STREAM's triad on 1, 2, 4, ... cores, with linear interpolation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.presentation.sentences import processes
from analysis.runs.columns import (
    COUNT,
    NUMBER,
    POSITIVE,
    TEXT,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Line, Tables, interval, is_missing, with_ends
from analysis.runs.kinds import ran
from analysis.statistics import Floats
from analysis.topics.topic import Context, Topic

PART_NAMES = {
    "memory": "shared caches and memory",
    "communication": "communication and unrecorded time",
    "waiting": "waiting of ranks for each other",
    "work": "work",
}

WHOLE = formats.percent(100)


def _of_parts(suffix: str, column: pa.Column) -> dict[str, pa.Column]:
    """Return the columns of a quantity of each part, with the ends of its interval."""
    columns: dict[str, pa.Column] = {}
    for part in PART_NAMES:
        columns |= with_interval(f"{part}_{suffix}", column)
    return columns


SCHEMAS = table_schemas(
    table_schema(
        "node_loss",
        "One row per point of one node that was both run and traced, with the causes of its "
        "efficiency. The ends combine the interval of the efficiency with the bands of the trace.",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        processes=COUNT,
        **with_descriptions(
            with_interval("efficiency", POSITIVE),
            efficiency="Efficiency of the runs, relative to the serial run.",
        ),
        **with_descriptions(
            _of_parts("factor", POSITIVE),
            memory_factor="1 / (1 + *s* (*p* − 1)), with the increase *s* of a rank's computing "
            "time for each "
            "other rank that computes on the node.",
            communication_factor="Efficiency / product of the three other factors: "
            "communication, and all causes that "
            "the trace does not show. Above 1 if the other factors explain more than the loss.",
            waiting_factor="Load balance × serialisation of the trace.",
            work_factor="CPU time of the serial run / CPU time of all ranks, each timed alone.",
        ),
        **with_descriptions(
            _of_parts("percent", NUMBER),
            memory_percent="Share of the loss, log(`memory_factor`) / log(`efficiency`). The "
            "shares are empty if"
            " there may be no loss.",
            communication_percent="Share of `communication_factor` in the loss.",
            waiting_percent="Share of `waiting_factor` in the loss.",
            work_percent="Share of `work_factor` in the loss.",
        ),
        **with_descriptions(
            with_interval("bandwidth_factor", POSITIVE),
            bandwidth_factor="*B*(*p*) / (*p* *B*(1)), with the memory bandwidth *B* of this "
            "number of cores by "
            "STREAM's triad: the efficiency if all computing waited for shared memory. Empty if "
            "it was not measured.",
        ),
        **with_descriptions(
            with_interval("bandwidth_percent", NUMBER),
            bandwidth_percent="Share of `bandwidth_factor` in the loss, an upper bound for shared bandwidth.",
        ),
    )
)
_KEYS = ["case", "processes", "site", "threads"]


def make(context: Context) -> Tables:
    """Make the table ``node_loss`` in a study of strong scaling."""
    if context.settings.scaling != "strong":
        return {}
    return make_node_loss(context.tables["scaling"], context.tables, context.side_tables["bandwidth"])


def make_node_loss(scaling: pd.DataFrame, simulated: Tables, bandwidth: pd.DataFrame) -> Tables:
    """Make the table ``node_loss``, for runs on one node whose ranks were also timed alone.

    Parameters
    ----------
    scaling : DataFrame
        Table of a study of strong scaling.
    simulated : mapping of str to DataFrame
        As `analysis.topics.simulated.tables.make_simulated_tables` returns it.
    bandwidth : DataFrame
        Side table of the memory bandwidth by number of cores; empty if the study did not measure it.

    Returns
    -------
    dict of DataFrame
        Empty without such runs. Intervals span all combinations of the ends of the efficiency and of the
        trace's bands. Shares of the loss are shares of logarithms, and empty if the efficiency may be 1.
    """
    if not {"traces", "simulated_efficiency"} <= simulated.keys():
        return {}
    rows = _runs_with_traces(scaling, simulated["traces"], simulated["simulated_efficiency"])
    if rows.empty:
        return {}
    # Axes: rows, ends of the efficiency, ends of the CPU times, ends of the slowdown.
    efficiency = _columns(rows, "efficiency", "efficiency_low", "efficiency_high")[:, :, None, None]
    seconds = _columns(rows, "corrected_seconds", "low_seconds", "high_seconds")[:, None, :, None]
    slowdown = (
        _columns(rows, "corun_percent", "corun_percent_low", "corun_percent_high")[:, None, None, :] / 100
    )
    other_ranks = _columns(rows, "processes")[:, :, None, None] - 1
    waiting = _columns(rows, "load_balance") * _columns(rows, "serialisation_efficiency")
    factors = {
        "memory": 1 / (1 + slowdown * other_ranks),
        "waiting": waiting[:, :, None, None],
        "work": _columns(rows, "serial_seconds")[:, :, None, None] / seconds,
    }
    factors["communication"] = efficiency / (factors["memory"] * factors["waiting"] * factors["work"])
    factors["bandwidth"] = _bandwidth_factors(bandwidth, rows)[:, None, :, None]
    loss = np.log(np.where((efficiency < 1).all(axis=1, keepdims=True), efficiency, np.nan))
    names = ["case", "interconnect", "kind", "processes", "site", *with_interval("efficiency", POSITIVE)]
    columns: dict[str, object] = {name: rows[name] for name in names}
    for part, factor in factors.items():
        columns |= with_range(f"{part}_factor", factor + 0 * efficiency)
        columns |= with_range(f"{part}_percent", 100 * np.log(factor) / loss)
    return {"node_loss": validated(SCHEMAS["node_loss"], pd.DataFrame(columns))}


def _runs_with_traces(scaling: pd.DataFrame, traces: pd.DataFrame, replays: pd.DataFrame) -> pd.DataFrame:
    """Join the points on one node with their traces and replays; the reference is a serial run."""
    on_one_node = (
        (scaling["nodes"] == 1)
        & (scaling["processes"] > 1)
        & (scaling["oversubscription"] == 1)
        & (scaling["threads"] == 1)
        & (scaling["reference_cores"] == 1)
    )
    rows = scaling[on_one_node & scaling["kind"].map(ran).astype(bool)]
    traces = traces[(traces["timing"] == "alone") & traces["corun_percent"].notna()]
    replays = replays[replays["nodes"] == 1].drop_duplicates(_KEYS)
    return rows.merge(traces, on=_KEYS).merge(replays, on=_KEYS, suffixes=("", "_replayed"))


def _columns(rows: pd.DataFrame, *names: str) -> Floats:
    """Return the named columns of a table as an array (rows, names)."""
    return rows[list(names)].to_numpy(float)


def with_range(name: str, values: Floats) -> dict[str, object]:
    """Make the columns of a quantity with its range from values (rows, ...), the estimate first."""
    flat = values.reshape(len(values), -1)
    return dict(with_ends(name, flat[:, 0], flat.min(axis=1), flat.max(axis=1)))


def _bandwidth_factors(bandwidth: pd.DataFrame, rows: pd.DataFrame) -> Floats:
    """Compute B(p) / (p B(1)), at most 1, and the ends of its range, array (rows, 3).

    NaN if the bandwidth B was not measured for p cores.
    """
    factors = np.full((len(rows), 3), np.nan)
    counts = rows["processes"].astype(float)
    for number, (site, count) in enumerate(zip(rows["site"], counts, strict=True)):
        is_of_site = bandwidth["site"].eq(site) | (bandwidth["site"].isna() & pd.isna(site))
        measured = bandwidth[is_of_site].sort_values("cores")
        if measured.empty or count > measured["cores"].max():
            continue
        ends = ["bandwidth_MBps", "bandwidth_MBps_low", "bandwidth_MBps_high"]
        together = [np.interp(count, measured["cores"].astype(float), measured[end]) for end in ends]
        value, low, high = measured[ends].iloc[0].to_numpy()
        alone = np.array([value, high, low])  # the lowest factor has the highest bandwidth of one core
        factors[number] = np.minimum(together / (count * alone), 1)
    return factors


def node_loss(content: Content) -> Section | None:
    """Report the share of the lost efficiency that each part causes; None without the table."""
    rows = content.tables.get("node_loss")
    if rows is None or rows.empty:
        return None
    labels = content.labels
    lines = labels.lines(rows, "case", "processes", "interconnect")

    def share(part: str) -> Callable[[Line], str]:
        return lambda line: formats.bracketed(*interval(line, f"{part}_percent"))

    fields = [
        texts(labels.interconnect_head, labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Efficiency", lambda line: formats.bracketed(*interval(line, "efficiency"))),
        *(numbers(f"{part.capitalize()} (% of the loss)", share(part)) for part in PART_NAMES),
        numbers("Bandwidth at most (%)", share("bandwidth")),
    ]
    method = (
        "Nodeworth traced a run of each case at each process count of the table. It then ran the ranks of "
        "this run again: each rank alone, and some ranks together. Section “Traces: computing and "
        "communication” shows the times. “Memory” is the additional computing time of a rank while other "
        "ranks of its node compute. “Waiting” is the time that ranks wait for each other. Nodeworth computes "
        "this time in a replay of the trace in which messages take no time. “Work” is the additional CPU "
        "time of all ranks, each timed alone, over the CPU time of the serial run. “Communication” is the "
        "rest of the loss, which includes time that the trace does not record. In the table, these four "
        f"parts are percentages of the loss, which add up to {WHOLE}. The rest is negative if the other "
        f"parts exceed {WHOLE}. “Bandwidth at most” is an upper bound of the loss that memory bandwidth can "
        f"cause. It assumes that all computing waits for memory, so it may exceed {WHOLE}. Nodeworth "
        "measured this bandwidth with STREAM triad on one core and on several cores. Brackets combine the "
        "interval of the efficiency with columns “Band (s)” and “Another rank (%)” of the section on traces. "
        "File tables/node_loss.csv has the factors."
    )
    caption = (
        "Causes of the loss of efficiency inside a node. The efficiency is the product of four factors, one "
        "factor for each cause. The share of a cause is the logarithm of its factor / the logarithm of the "
        "efficiency."
    )
    blocks = [
        bullets([_loss_sentence(line, labels) for line in lines]),
        line_table(caption, fields, lines, lambda line: labels.case(line["case"])),
        paragraph(method),
    ]
    return section("node_loss", "Is it the memory or the network?", blocks)


def _loss_sentence(line: Line, labels: Labels) -> str:
    """State the efficiency of a run, and the share of the loss that each part causes."""
    run = f"{labels.case(line['case'])} on {processes(line['processes'])} of one node, "
    run += labels.interconnect(line["interconnect"], line["kind"])
    efficiency = formats.bracketed(*interval(line, "efficiency"))
    if is_missing(line["memory_percent"]):
        return (
            f"{run}: the efficiency is {efficiency}. Nodeworth states no causes, because there may be no "
            "loss."
        )
    shares = {part: formats.percent_with_interval(*interval(line, f"{part}_percent")) for part in PART_NAMES}
    largest = max(PART_NAMES, key=lambda part: line[f"{part}_percent"])
    text = f"{run}: the efficiency is {efficiency}. The largest share of the loss, {shares[largest]}, is "
    text += f"due to {PART_NAMES[largest]}."
    if largest == "work":
        text += " All ranks together compute longer than the serial run, even if each rank is timed alone."
    for part in ("memory", "communication"):
        if part != largest:
            text += f" {PART_NAMES[part].capitalize()} cause {shares[part]} of the loss."
    if line["communication_percent_low"] < 0:
        text += " Communication is what the other parts leave of the loss, so its share may be negative."
    return text + _bandwidth_sentence(line)


def _bandwidth_sentence(line: Line) -> str:
    """Compare the share of memory with its bound by bandwidth; empty if bandwidth was not measured."""
    bound = interval(line, "bandwidth_percent")
    if is_missing(bound[0]):
        return ""
    share = formats.percent_with_interval(*bound)
    text = f" For memory bandwidth alone, Nodeworth knows only an upper bound: {share} of the loss."
    if bound[0] > 100:
        text += f" This upper bound exceeds {WHOLE}, because it assumes that all computing waits for memory."
    if line["memory_percent_low"] <= line["bandwidth_percent_high"]:
        return (
            f"{text} The share of shared caches and memory is not clearly above this bound, so memory "
            "bandwidth may explain all of it."
        )
    by_reruns = formats.percent_with_interval(*interval(line, "memory_percent"))
    return (
        f"{text} The share of shared caches and memory is above this bound: {by_reruns}. Ranks therefore "
        "share more than bandwidth, such as caches or the clock rate of busy cores."
    )


TOPIC = Topic(
    name="node_loss",
    schemas=SCHEMAS,
    make=make,
    needs=("scaling", "traces", "simulated_efficiency"),
    section=node_loss,
    in_appendix=True,
    on_screen={"list"},
)
