"""Tables of route load: bounds of all patterns in all topologies, and congestion matrices of the trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from analysis.networks.congestion.loads import congestion_matrix, link_loads, pattern_bounds
from analysis.networks.congestion.topology import Topology, Torus, Tree, fat_tree, k_ary_n_tree, ring, star
from analysis.tables.contract import COUNT, FLAG, POSITIVE, SHARE, TEXT, table_schema, validated
from analysis.tables.details import WHOLE

CONGESTION = table_schema(
    "congestion",
    topology=TEXT,
    nodes=COUNT,
    pattern=TEXT,
    permutation=FLAG,
    routing=TEXT,
    highest_link_load=POSITIVE,
    highest_switch_load=POSITIVE,
    accepted_bound=SHARE,
    free_of_conflict=FLAG,
)
"""One row a topology, pattern and routing. Every process offers its link's bandwidth; columns.yaml
says what the columns mean."""

MATRIX = table_schema(
    "congestion_matrix",
    topology=TEXT,
    pattern=TEXT,
    routing=TEXT,
    level=COUNT,
    switch=WHOLE,
    side=TEXT,
    port=WHOLE,
    load=pa.Column(float, pa.Check.ge(0)),
    share=SHARE,
)
"""Congestion matrices as `analysis.networks.congestion.loads.congestion_matrix` gives them."""

CONGESTION_TABLES = {"congestion": CONGESTION, "congestion_matrix": MATRIX}

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
    match form:
        case "k_ary_n_tree":
            return k_ary_n_tree(*numbers)
        case "fat_tree":
            return fat_tree(tuple(numbers["down"]), numbers["blocking"])
        case "star":
            return star(numbers)
        case "ring":
            return ring(numbers)
        case "torus":
            return Torus(tuple(numbers))
    raise ValueError(f"no topology is called {form}")


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
        `analysis.networks.congestion.loads.link_loads` takes it.
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
        rows = pattern_bounds({title: topology}, of_patterns)
        bounds.append(rows.assign(nodes=topology.nodes, permutation=rows["pattern"].map(permutes)))
        for pattern in matrices if isinstance(topology, Tree) else ():
            links = link_loads(topology, of_patterns[pattern], MATRIX_ROUTING)
            cells = congestion_matrix(topology, links)
            blocks.append(cells.assign(topology=title, pattern=pattern, routing=MATRIX_ROUTING))
    tables = {"congestion": bounds, "congestion_matrix": blocks}
    return {
        name: validated(CONGESTION_TABLES[name], pd.concat(rows, ignore_index=True))
        for name, rows in tables.items()
        if rows
    }


def is_permutation(flows: pd.DataFrame) -> bool:
    """Whether every node sends to one other at most, and receives from one at most."""
    moved = flows[(flows["load"] > 0) & (flows["source"] != flows["destination"])]
    return not (moved["source"].duplicated().any() or moved["destination"].duplicated().any())
