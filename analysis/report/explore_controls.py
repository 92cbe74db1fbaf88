"""What the page that explores says of what it looks up; braces hold the numbers."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.presentation.formats import bracketed, counted, seconds
from analysis.runs.frames import interval

WORDS = {
    "beyond": "not reached, at most {speedup} on {processes}",
    "below": "reached on {processes}, its fewest",
    "reached": "{speedup} on {processes}",
    "unknown": "none that is known",
    "over": "too many",
    "none": "none is known",
    "asked": "{name}: {target} {value}.",
    "same": "That is a speedup of {speedup}: {seconds} s a run, {runs} runs a day one after another.",
}
COLUMNS = {
    "processes": "Processes",
    "nodes": "Nodes",
    "price": "Price of the cluster",
    "run": "Price a run",
    "speedup": "Speedup",
    "processes_saved": "Processes saved",
    "nodes_saved": "Nodes saved",
    "price_saved": "Saved",
    "at_hand": "Speedup on nodes at hand",
}
TARGETS = {
    "speedup": "a speedup of at least",
    "seconds": "seconds a run, at most",
    "runs": "runs a day, one after another, at least",
    "price": "price a run, at most",
}
NOTE = (
    "Between the counts of the tables a straight line is followed, and none is left, as for node "
    "equivalents. A range of what is needed reaches from where the upper ends of the speedups' {intervals} "
    "meet the target to where the lower ends do; that of what is saved is that of the node equivalents, "
    "where the study compares the two. Nodes are bought whole. For a price a run only the counts of the "
    "tables are looked at."
)


def point_told(name: str, point: Mapping[str, float]) -> str:
    """Write a point of a curve with its time and speedup."""
    count, speedup = counted(point["processes"], "process"), bracketed(*interval(point, "speedup"))
    return f"{name}: {count}, {seconds(point['seconds'])}, speedup {speedup}"
