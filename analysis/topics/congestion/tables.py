"""Tables of route load: bounds of all patterns in all topologies, and congestion matrices of the trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from analysis.runs.columns import COUNT, FLAG, POSITIVE, SHARE, TEXT, table_schemas, validated
from analysis.runs.side_tables import RATE, WHOLE
from analysis.topics.congestion.loads import congestion_matrix, link_loads, pattern_bounds
from analysis.topics.congestion.topology import Topology, Torus, Tree, fat_tree, k_ary_n_tree, ring, star
from analysis.topics.congestion.waits import link_waits

CONGESTION_TABLES = table_schemas(
    congestion=dict(
        topology=TEXT,
        nodes=COUNT,
        pattern=TEXT,
        permutation=FLAG,
        routing=TEXT,
        **dict.fromkeys(("highest_link_load", "highest_switch_load"), POSITIVE),
        accepted_bound=SHARE,
        free_of_conflict=FLAG,
    ),
    congestion_matrix=dict(
        **dict.fromkeys(("topology", "pattern", "routing"), TEXT),
        level=COUNT,
        switch=WHOLE,
        side=TEXT,
        port=WHOLE,
        load=pa.Column(float, pa.Check.ge(0)),
        share=SHARE,
        wait_packet_times=RATE,
        wait_share=pa.Column(float, pa.Check.in_range(0, 1)),
    ),
)
"""``congestion`` has one row a topology, pattern and routing, every process offering its link's bandwidth;
``congestion_matrix`` is as `analysis.topics.congestion.loads.congestion_matrix` gives it, with waits
beside the loads. columns.yaml says what the columns mean."""

MATRIX_ROUTING = "deterministic"
"""Routing of the congestion matrices: with the traffic divided evenly, the links of a level are alike."""


def topology_of(given: Mapping[str, Any]) -> Topology:
    """Make a topology from its description in a study.

    Parameters
    ----------
    given : mapping
        One key, ``k_ary_n_tree``, ``fat_tree``, ``star``, ``ring`` or ``torus``, as
        workflows/schemas/study.yaml describes it.

    Raises
    ------
    TableError
        For numbers that make none.
    """
    ((form, numbers),) = given.items()
    return _FORMS[form](numbers)


_FORMS: dict[str, Callable[[Any], Topology]] = {
    "k_ary_n_tree": lambda numbers: k_ary_n_tree(*numbers),
    "fat_tree": lambda numbers: fat_tree(tuple(numbers["down"]), numbers["blocking"]),
    "star": star,
    "ring": ring,
    "torus": lambda numbers: Torus(tuple(numbers)),
}


def make_congestion_tables(
    topologies: Mapping[str, Topology],
    flows: Mapping[str, Mapping[str, pd.DataFrame]],
    matrices: Sequence[str],
) -> dict[str, pd.DataFrame]:
    """Make the tables of route load.

    Parameters
    ----------
    topologies : mapping of str to Tree or Torus
        By title.
    flows : mapping of str to mapping of str to DataFrame
        By title of the topology and name of the pattern: traffic as
        `analysis.topics.congestion.loads.link_loads` takes it.
    matrices : sequence of str
        Patterns of which trees have a congestion matrix.

    Returns
    -------
    dict of DataFrame
        Those of `CONGESTION_TABLES` that have rows.
    """
    bounds, blocks = [], []
    for title, topology in topologies.items():
        of_patterns = flows[title]
        permutes = {pattern: is_permutation(traffic) for pattern, traffic in of_patterns.items()}
        rows = pattern_bounds(topology, of_patterns)
        permutation = rows["pattern"].map(permutes)
        bounds.append(rows.assign(topology=title, nodes=topology.nodes, permutation=permutation))
        for pattern in matrices if isinstance(topology, Tree) else ():
            links = link_loads(topology, of_patterns[pattern], MATRIX_ROUTING)
            cells = congestion_matrix(links).join(_waits(topology, of_patterns[pattern], links))
            blocks.append(cells.assign(topology=title, pattern=pattern, routing=MATRIX_ROUTING))
    tables = {"congestion": bounds, "congestion_matrix": blocks}
    return {
        name: validated(CONGESTION_TABLES[name], pd.concat(rows, ignore_index=True))
        for name, rows in tables.items()
        if rows
    }


def _waits(tree: Tree, flows: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """Mean wait of a packet and share of all waiting, row by row of the congestion matrix."""
    counted = link_waits(tree, flows, links)
    total, packets = (congestion_matrix(links.assign(load=counted[column])) for column in ("wait", "packets"))
    mean = total["load"] / packets["load"].where(packets["load"] > 0)
    return pd.DataFrame({"wait_packet_times": mean, "wait_share": total["share"]})


def is_permutation(flows: pd.DataFrame) -> bool:
    """Whether every node sends to one other at most, and receives from one at most."""
    moved = flows[(flows["load"] > 0) & (flows["source"] != flows["destination"])]
    return not (moved["source"].duplicated().any() or moved["destination"].duplicated().any())
