"""Which cases and interconnects does the study have, and how many runs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.network_words import size_text
from analysis.runs.runs import count_validity
from analysis.topics.topic import Topic

Factors = Mapping[str, Any]
"""Components and settings of an interconnect: `COLUMNS`, `MODEL_FACTORS` and other keys of its file."""

COLUMNS = {
    "mpi": ("MPI library", ""),
    "link_mbps": ("Link rate", "Mbit/s"),
    "host_bus": ("Host bus", ""),
    "transport": ("Transport", ""),
    "mtu": ("MTU", "bytes"),
    "cable": ("Cable", ""),
    "path": ("Path", ""),
    "compiler": ("Compiler", ""),
    "storage": ("Storage", ""),
    "latency_us": ("Latency", "µs"),
    "peak_MBps": ("Peak", "MB/s"),
    "eager_limit_bytes": ("Eager limit", "bytes"),
}
"""Title and unit of the factors that have a column; the last three describe a model."""

MODEL_FACTORS = {
    "switches_bytes": ("other changes of protocol", ""),
    "host_overhead": ("processor time per message", ""),
    "directions": ("what both directions share", ""),
    "hop_us": ("delay of a switch", "µs"),
    "topology": ("topology", ""),
}
"""Title and unit of the other factors of a model."""

WORDS = {
    "transport": {
        "rc": "reliable connection (RC)",
        "uc": "unreliable connection (UC)",
        "ud": "unreliable datagram (UD)",
        "tcp": "TCP",
        "udp": "UDP",
        "memory": "shared memory",
    },
    "path": {"back_to_back": "back to back"},
}
"""Words for values, by factor."""

UNITS = {
    "send_us": "µs to send",
    "receive_us": "µs to receive",
    "send_ns_per_byte": "ns a byte sent",
    "receive_ns_per_byte": "ns a byte received",
    "both_ways_MBps": "MB/s both ways",
}
"""Units of keys within a section of a model; other keys are plain words."""
MOST_COUNTS = 10
"""Process counts in a sentence, at most; more become their number and their range."""


def asked_section(content: Content) -> Section | None:
    """Write the section that lists the cases and interconnects of the study, and counts its runs."""
    facts, labels = content.facts, content.labels
    blocks = [paragraph(_extent(content))]
    cases = labels.sorted_cases(content.runs["case"])
    if not cases:
        return section("asked", "Question", blocks)
    rows = []
    for case in cases:
        about = facts.case(case)
        texts = (about.application, about.size, about.stands_for)
        rows.append(row([labels.case(case), *(text or MISSING for text in texts)], case))
    blocks.append(table("Cases.", left("Case", "Application", "Size", "Stands for"), {"": rows}))
    rows = []
    for name in labels.sorted_interconnects(content.runs["interconnect"].dropna()):
        kinds = listed(content.runs.loc[content.runs["interconnect"] == name, "kind"].unique())
        description = facts.interconnect(name).description or ""
        rows.append(row([labels.interconnect(name), labels.full_name(name), kinds, description], "", name))
    head = labels.interconnect_head
    columns = left("Called", head, "Kind", "Description")
    blocks += [table(f"{head}s.", columns, {"": rows})] if rows else []
    blocks += factor_blocks(content)
    return section("asked", "Question", blocks)


def _extent(content: Content) -> str:
    """Count the cases, interconnects, sites and runs of the study."""
    runs = content.runs
    if runs.empty:
        return "This study has no runs."
    keys = ("processes", "oversubscription", "threads")
    counts, levels, threads = (sorted(set(runs[key].map(int))) for key in keys)
    names, sites = runs["interconnect"].dropna().str.split("@").str[0].nunique(), runs["site"].nunique()
    sizes = [counted(runs["case"].nunique(), "case")]
    sizes += [counted(names, content.labels.noun)] if names else []
    sizes += [counted(sites, "site")] if sites > 1 else []
    text = f"The study has {listed(sizes)}."
    text += "" if names else " All runs are serial."
    if len(counts) > MOST_COUNTS:
        least, most = map(formats.plain, (counts[0], counts[-1]))
        text += f" The study has {len(counts)} process counts from {least} to {most}."
    else:
        noun = "process count is" if len(counts) == 1 else "process counts are"
        text += f" The {noun} {listed(map(formats.plain, counts))}."
    if threads != [1]:
        text += f" Each process has {listed(map(str, threads), 'or')} threads."
    if levels != [1]:
        text += f" Each core has {listed(map(str, levels), 'or')} processes."
    simulated = int((runs["kind"] == "simulated").sum())
    validity = count_validity(runs)
    recorded, invalid = validity.current - simulated, validity.invalid
    if recorded:
        text += f" The study has {counted(recorded, 'run')}"
        planned = content.facts.runs.planned
        if planned is not None and planned - simulated > recorded:  # repeated runs may exceed the plan
            text += f" of {formats.whole(planned - simulated)} planned runs"
        verb = "is" if invalid == 1 else "are"
        text += f". {f'{formats.whole(invalid)} of the runs {verb}' if invalid else 'No run is'} invalid."
    if validity.outdated:
        verb = "is" if validity.outdated == 1 else "are"
        text += f" {counted(validity.outdated, 'other run')} {verb} outdated."
    return f"{text} The study also has {counted(simulated, 'simulated time')}." if simulated else text


def factor_blocks(content: Content) -> list[Block]:
    """Tabulate the factors of the interconnects that ran, and list their differences from the baseline."""
    facts, labels = content.facts, content.labels
    present = labels.sorted_interconnects(content.runs["interconnect"].dropna())
    factors = {name: facts.interconnect(name).factors for name in present}
    factors = {name: values for name, values in factors.items() if values}
    if not factors:
        return []
    columns, keys = left("Interconnect"), []
    for key, (title, unit) in COLUMNS.items():
        if any(key in values for values in factors.values()):
            keys.append(key)
            columns += right(f"{title} ({unit})") if unit else left(title)
    rows = [
        row([labels.interconnect(name), *(_value(key, values) for key in keys)], "", name)
        for name, values in factors.items()
    ]
    blocks = [table("Properties of the interconnects.", columns, {"": rows})]
    kinds = {name: facts.interconnect(name).kind for name in factors}
    for title, items in differences(factors, kinds, facts.study.baselines, labels).items():
        blocks.append(bullets(items, title))
    return blocks


def differences(
    factors: Mapping[str, Factors], kinds: Mapping[str, str | None], baselines: Sequence[str], labels: Labels
) -> dict[str, list[str]]:
    """List the factors in which interconnects differ from a baseline of their kind.

    If the MPI libraries differ, launch settings are left out, since each library has settings of its own.

    Parameters
    ----------
    factors : mapping of str to Factors
        By interconnect.

    Returns
    -------
    dict of list of str
        The title of each pair, and a phrase for each factor.
    """
    items = {}
    baselines_first = sorted(factors, key=lambda name: name not in baselines)
    for baseline, other in combinations(baselines_first, 2):
        if baseline not in baselines or kinds[baseline] != kinds[other]:
            continue
        first, second = factors[other], factors[baseline]
        all_keys = dict.fromkeys([*COLUMNS, *first, *second])
        different = [key for key in all_keys if _value(key, first, "") != _value(key, second, "")]
        pair = [(labels.interconnect(other), first), (labels.interconnect(baseline), second)]
        phrases = [_difference(key, pair) for key in different]
        if "mpi" in different:
            phrases = [_difference(key, pair) for key in different if not key.startswith("launch.")]
            phrases.append("Launch settings: the settings of each MPI library")
        title = f"Properties of {labels.interconnect(other)} against {labels.interconnect(baseline)}"
        items[title] = phrases or ["The files of these interconnects state no difference"]
    return items


def _difference(key: str, pair: Sequence[tuple[str, Factors]]) -> str:
    """Write a factor with its values for two interconnects: ``MTU: 1500 against 9000 bytes``.

    If a value is not stated, each value has the title of its interconnect.
    """
    title, unit = (COLUMNS | MODEL_FACTORS).get(key, (key, ""))
    title = title if key not in COLUMNS | MODEL_FACTORS else f"{title[0].upper()}{title[1:]}"
    title = "Peak bandwidth" if key == "peak_MBps" else title
    unit = f" {unit}" if unit else ""
    values = [(name, _value(key, factors, "")) for name, factors in pair]
    if all(value for _, value in values):
        return f"{title}: {' against '.join(value for _, value in values)}{unit}"
    clauses = [f"{f'{value}{unit}' if value else 'not stated'} for {name}" for name, value in values]
    return f"{title}: {', '.join(clauses)}"


def _value(key: str, factors: Factors, missing: str = MISSING) -> str:
    """Write the value of a factor without its unit; `missing` if an interconnect does not have it."""
    value = factors.get(key)
    if value is None:
        return missing
    if isinstance(value, dict):
        return listed(_entry_text(name, entry) for name, entry in value.items() if entry != 0) or missing
    if isinstance(value, list):
        return listed(map(size_text, value)) or "none"
    if key in ("link_mbps", "mtu", "eager_limit_bytes"):
        return formats.number(value) if value % 1 else formats.whole(int(value))
    if key in ("latency_us", "peak_MBps", "hop_us"):
        return formats.exact(float(f"{value:.4g}"))
    return WORDS.get(key, {}).get(value, str(value))


def _entry_text(name: str, value: Any) -> str:
    """Write an entry of a model's section as text, such as ``fat tree of ports 24, blocking ratio 2``."""
    if name in UNITS:
        return f"{formats.exact(value)} {UNITS[name]}"
    words = name.replace("_", " ")
    if isinstance(value, dict):
        entries = ", ".join(_entry_text(key, entry) for key, entry in value.items())
        return f"{words} of {entries}" if entries else words
    if isinstance(value, list):
        return f"{words} {' × '.join(map(str, value))}"
    return words if value is True else f"{words} {value}"


TOPIC = Topic(name="asked", section=asked_section, in_appendix=True, needs_runs=False, on_screen={"list"})
