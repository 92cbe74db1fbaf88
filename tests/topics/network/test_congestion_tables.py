"""Tables of route load in a study, and impossible requests."""

import pytest

from analysis.topics.congestion.tables import (
    CONGESTION_TABLES,
    is_permutation,
    make_congestion_tables,
    topology_of,
)
from workflows.domain import InputError
from workflows.study.congestion import check_congestion, pattern_of, requested_flows, requested_topologies

ASKED = {
    "topologies": {"4-ary 3-tree": {"k_ary_n_tree": [4, 3]}, "Ring": {"ring": 64}},
    "patterns": ["complement", "bit_reversal", "uniform", {"pattern": "multiple_hot_spots", "io_nodes": 4}],
    "matrices": ["bit_reversal"],
}


@pytest.fixture(scope="module")
def tables():
    topologies = requested_topologies(ASKED, "study")
    return make_congestion_tables(topologies, requested_flows(ASKED, topologies, "study"), ASKED["matrices"])


def test_bounds_equal_those_of_the_documents(tables):
    bounds = tables["congestion"].set_index(["topology", "pattern", "routing"])["accepted_bound"]
    assert bounds["4-ary 3-tree", "complement", "deterministic"] == 1
    assert bounds["4-ary 3-tree", "bit_reversal", "deterministic"] == pytest.approx(0.25)
    assert bounds["4-ary 3-tree", "bit_reversal", "spread"] == pytest.approx(1)
    assert bounds["Ring", "complement", "deterministic"] == pytest.approx(0.0625, rel=0.05)
    # 64 writers on 4 I/O nodes at the end: each takes in 64 / 4 links' bandwidth, less its own.
    assert bounds["4-ary 3-tree", "multiple_hot_spots, 4", "spread"] == pytest.approx(1 / 16, rel=0.05)


def test_each_permutation_has_rows_and_only_trees_have_a_matrix(tables):
    bounds = tables["congestion"].drop_duplicates("pattern").set_index("pattern")["permutation"]
    assert list(bounds[["complement", "bit_reversal", "uniform"]]) == [True, True, False]
    matrix = tables["congestion_matrix"]
    assert set(zip(matrix["topology"], matrix["pattern"], strict=True)) == {("4-ary 3-tree", "bit_reversal")}
    # 48 switches; traffic comes into one by 4 links from below, and by 4 from above unless it is on top.
    assert (matrix["side"] == "switch").sum() == 48 and len(matrix) == 48 + 4 * (48 + 32)


def test_columns_follow_the_schemas(tables):
    assert {name: list(table) for name, table in tables.items()} == {
        name: list(schema.columns) for name, schema in CONGESTION_TABLES.items()
    }


def test_two_flows_to_one_node_are_no_permutation():
    stars = {"Star": topology_of({"star": 4})}
    flows = requested_flows({"patterns": ["hot_spot"]}, stars, "study")
    assert not is_permutation(flows["Star"]["hot_spot"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topologies": {"A": {"fat_tree": {"down": [5, 2], "blocking": 2}}}},
         r"study\.topologies\.A: blocking ratio 2: does not divide the 5 links down of a switch"),
        ({"topologies": {"A": {"k_ary_n_tree": [4, 6]}}}, r"study\.topologies\.A: 4096 nodes; at most 1024"),
        ({"topologies": {"A": {"ring": 24}}}, r"study\.patterns\[0\]: A: processes: 24: complement needs a power of two"),
        ({"patterns": ["complment"]}, r"study\.patterns\[0\]: 4-ary 3-tree: pattern: complment: must be one of "),
        ({"matrices": ["shuffle"]}, r"study\.matrices\[0\]: 'shuffle' is not among the patterns \(complement, "),
        ({"published": "Rong"}, r"study\.published: .*Rong.*Ring"),
    ],
)  # fmt: skip
def test_impossible_requests_are_reported_in_one_line(change, message):
    with pytest.raises(InputError, match=message):
        check_congestion(ASKED | change, "study")


def test_a_pattern_is_named_with_its_choices():
    name, pattern = pattern_of({"pattern": "combined", "io_mapping": "clustered_io", "io_nodes": 2})
    assert name == "combined, clustered_io, 2"
    assert (pattern.io_mapping, pattern.io_nodes) == ("clustered_io", 2)
