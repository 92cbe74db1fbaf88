"""At how many processes is each interconnect fastest?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.curves.curves import Curve, fewest_blocks, may_peak
from analysis.presentation import result_tables as tables
from analysis.presentation import sentences
from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.runs.columns import COUNT, FLAG, NOTE, OF_A_CURVE, POSITIVE, table_schemas
from analysis.runs.frames import Piece, Tables, stacked
from analysis.statistics.best import FEWEST
from analysis.topics.scaling.figures import overview_figure
from analysis.topics.topic import Context, Topic

PEAKS = table_schemas(
    peaks=dict(
        **OF_A_CURVE,
        peak_processes=COUNT,
        peak_set=NOTE,
        peak_speedup=POSITIVE,
        reached=FLAG,
        **dict.fromkeys(("processes_per_node", "peak_speedup_low", "peak_speedup_high"), POSITIVE),
        blocks=COUNT,
        note=NOTE,
    ),
)


def make_peaks(context: Context) -> Tables:
    """Make the table ``peaks``: a row for each curve."""
    return {"peaks": stacked([peak_columns(curve) for curves in context.curves.cases for curve in curves])}


def peak_columns(curve: Curve) -> Piece:
    """Make the row of a curve in the table of peaks."""
    members, counts, peak = may_peak(curve), curve.processes.astype(str), curve.peak
    return {
        **curve.names,
        "peak_processes": curve.processes[peak],
        **{f"peak_{name}": getattr(curve, name)[peak] for name in ("speedup", "speedup_low", "speedup_high")},
        "peak_set": " ".join(counts[members]) or None,
        "reached": not members[-1] if members.any() else peak < len(counts) - 1,
        "blocks": curve.table["n"].min(),
        "note": _note(curve, members),
    }


def _note(curve: Curve, members: NDArray[np.bool_]) -> str | None:
    if curve.kind == "simulated":
        return "simulated" if members.any() else "simulated, without a band"
    if members.any():
        return None
    return "one sample" if fewest_blocks(curve) < 2 else f"fewer than {FEWEST} blocks"


def all_cases(content: Content) -> Section | None:
    """Where each interconnect is fastest, all cases side by side."""
    labels, improvement = content.labels, content.tables["improvement"]
    said = sentences.blocks_sentences(improvement, "improvements")
    said += sentences.blocks_sentences(content.tables["oversubscription"], "oversubscription")
    if across := sorted({kind for kind in improvement["kind"] if "/" in kind}):
        pairs = listed(kind.replace("/", " with ") for kind in across)
        said.append(f"Comparisons of {pairs} interconnects are made because the study declares them.")
    blocks = tables.peak_tables(content.tables["peaks"], labels)
    blocks += content.figures("overview") if len(content.cases) > 1 else []
    blocks += [paragraph(" ".join(said))] if said else []
    return section("peaks", "All cases side by side", blocks)


TOPIC = Topic(
    name="peaks",
    schemas=PEAKS,
    make=make_peaks,
    by_site=True,
    always=("peaks",),
    draw=lambda view: overview_figure(view.tables["scaling"], view.labels),
    section=all_cases,
    on_screen={"figure", "table", "paragraph"},
)
