"""Switch trees by hand, and against the published list prices."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refusal

from analysis.runs.runs import TableError
from analysis.topics.prices.books import quote, rows_of
from analysis.topics.prices.parts import PART_LIST, read_parts
from analysis.topics.prices.switches import capacity, count_switches, tree_prices, tree_quote, uplinks_of

HEADER = ",".join(PART_LIST.columns)
EDGE, CORE = "infiniband_4x_24_port", "infiniband_4x_288_port"


def test_a_switch_splits_its_ports_by_the_blocking_ratio():
    assert uplinks_of(24, 2) == 8  # 16 down
    assert uplinks_of(24, 1) == 12
    assert uplinks_of(8, 2) == 3  # 5 down: 2 up would be 3:1
    assert uplinks_of(36, 33 / 7) == 7


def test_capacity():
    assert capacity([24], []) == 24
    assert capacity([24, 24], [2]) == 384  # as table 10 ends
    assert capacity([24, 288], [2]) == 4608  # as table 9 ends
    assert capacity([24, 24, 24], [1, 1]) == 3456  # radix^3 / 4


def test_counts_of_a_three_level_tree():
    counts = count_switches([3456, 3457], [24, 24, 24], [1, 1])
    full = counts[counts["nodes"] == 3456]
    assert full["switches"].tolist() == [288, 288, 144]
    assert full["uplinks"].tolist() == [3456, 3456, 0]
    assert counts.loc[counts["nodes"] == 3457, "switches"].isna().all()


def test_counts_of_a_half_bandwidth_tree():
    # 100 nodes, 16 a switch: 7 switches with 8 uplinks each, 56 of them on 3 switches of 24
    counts = count_switches([100], [24, 24], [2])
    assert counts["switches"].tolist() == [7, 3]
    assert counts["uplinks"].tolist() == [56, 0]


def reproduction(book, parts, item):
    """How well the parts of a tree reproduce the published prices of an interconnect."""
    sizes = rows_of(book, item)["nodes_from"].to_numpy(np.int64)
    published = quote(book, item, sizes)["price_per_node"].to_numpy() * sizes
    trees = tree_prices(parts, item, sizes)
    difference = trees["price"] - published
    return trees.assign(
        published_price=published, difference=difference, difference_percent=100 * difference / published
    )


def test_the_published_prices_are_reproduced_to_the_dollar_but_for_one(sandia, parts):
    edge = reproduction(sandia, parts, EDGE).set_index("nodes")
    assert edge.index.tolist() == [24, 48, 96, 128, 192, 256, 384]
    assert edge.loc[256, "difference"] == 7450  # one switch: 128 uplinks need six, the table has five
    assert edge.loc[256, "difference_percent"] == pytest.approx(1.56, abs=0.005)
    assert edge["difference"].drop(256).abs().max() < 0.01
    assert edge["switches"].tolist() == ["1", "3 + 1", "6 + 2", "8 + 3", "12 + 4", "16 + 6", "24 + 8"]
    core = reproduction(sandia, parts, CORE).set_index("nodes")
    assert core.index.tolist() == [288, 576, 1152, 2304, 4608]
    assert core["difference"].abs().max() < 0.01
    assert core.loc[4608, "switches"] == "288 + 8"


def published_counts(sandia, parts):
    """Parts of the twelve published trees, uplinks of up to 96 ports apart."""
    tables = [reproduction(sandia, parts, item) for item in (EDGE, CORE)]
    rows = pd.concat(tables, ignore_index=True)
    small = rows["nodes"] <= 96
    edges = [int(text.split(" + ")[0]) for text in rows["switches"]]
    tops = [int(text.split(" + ")[1]) if " + " in text else 0 for text in rows["switches"]]
    core = rows["levels"].str.endswith("288")
    whole = ~rows["levels"].str.contains("+", regex=False)
    counts = pd.DataFrame(
        {
            "port": rows["nodes"],
            "uplink_small": rows["uplinks"].where(small, 0),
            "uplink_large": rows["uplinks"].where(~small, 0),
            "switch_24": np.where(core, np.where(whole, 0, edges), np.array(edges) + tops),
            "switch_288": np.where(core, np.where(whole, edges, tops), 0),
        }
    )
    return counts, rows["published_price"], rows["nodes"]


class PartFit(NamedTuple):
    """Part prices that reproduce published prices best; below a full rank only their sums can be told."""

    prices: pd.Series
    residuals: pd.Series  # computed less published
    rank: int


def fit_part_prices(counts, published):
    """Least squares of published prices, one a row, on the counts of parts."""
    matrix, prices = counts.to_numpy(float), published.to_numpy(float)
    solution, _, rank, _ = np.linalg.lstsq(matrix, prices, rcond=None)
    residuals = pd.Series(matrix @ solution - prices, counts.index)
    return PartFit(pd.Series(solution, counts.columns), residuals, int(rank))


def test_part_prices_by_least_squares(sandia, parts):
    counts, prices, nodes = published_counts(sandia, parts)
    kept = nodes != 256
    fit = fit_part_prices(counts[kept], prices[kept])
    assert fit.rank == 5  # five prices from six different rows
    expected = {
        "port": 1105,
        "uplink_small": 0,
        "uplink_large": 300,
        "switch_24": 7450,
        "switch_288": 193_150,
    }
    assert fit.prices.round(6).to_dict() == expected
    assert fit.residuals.abs().max() < 0.01


def test_with_six_top_switches_at_256_ports_no_sensible_prices_fit(sandia, parts):
    counts, prices, nodes = published_counts(sandia, parts)
    fit = fit_part_prices(counts, prices)
    assert fit.prices["switch_24"] < 0
    assert fit.residuals.abs().max() > 1000
    counts.loc[nodes == 256, "switch_24"] -= 1  # five
    assert fit_part_prices(counts, prices).residuals.abs().max() < 0.01


def test_one_price_for_all_cables_between_switches_does_not_fit(sandia, parts):
    counts, prices, nodes = published_counts(sandia, parts)
    kept = nodes != 256
    merged = counts.assign(uplink=counts["uplink_small"] + counts["uplink_large"])
    fit = fit_part_prices(merged.loc[kept, ["port", "uplink", "switch_24", "switch_288"]], prices[kept])
    assert (fit.residuals / prices[kept]).abs().max() > 0.01


def test_inseparable_prices_have_too_small_a_rank():
    counts = pd.DataFrame({"nic": [1, 2], "cable": [1, 2]})
    assert fit_part_prices(counts, pd.Series([10.0, 20.0])).rank == 1


def test_quadrics_is_not_a_multiple_of_parts(sandia):
    """From 512 ports on the price is proportional; 256 ports cost 900 more than half of 512."""
    sizes = [256, 512, 1024, 2048, 4096, 8192]
    whole = quote(sandia, "quadrics_elan4", sizes)["price_per_node"] * sizes
    assert whole[1:].div(whole[1]).round(9).tolist() == [1, 2, 4, 8, 16]
    assert whole[0] - whole[1] / 2 == pytest.approx(900)


def test_the_cheapest_tree_is_taken(parts):
    trees = tree_prices(parts, CORE, [24, 25, 288, 289, 4609]).set_index("nodes")
    assert trees.loc[24, ["levels", "switches"]].tolist() == ["24", "1"]
    assert trees.loc[288, ["levels", "switches"]].tolist() == ["288", "1"]
    assert trees.loc[289, ["levels", "switches"]].tolist() == ["24 + 288", "19 + 1"]
    assert trees.loc[25, "price"] == 25 * 1105 + 193_150
    assert trees.loc[289, "price"] == 289 * 1105 + 19 * 7450 + 193_150 + 152 * 300
    assert trees.loc[4609].drop("levels").isna().all()


def test_a_tree_is_quoted_as_a_book_is(parts, sandia):
    quotes = tree_quote(parts, EDGE, [1, 24, 100, 385])
    assert list(quotes.columns) == list(quote(sandia, EDGE, [24]).columns)
    of_100 = (100 * 1105 + 10 * 7450 + 56 * 300) / 100
    assert quotes["price_per_node"].iloc[:3].tolist() == [0, 33_970 / 24, of_100]
    assert quotes["note"].tolist() == [
        "one node needs no interconnect",
        "1 switch of 24 ports; part prices inferred",
        "7 + 3 switches of 24 + 24 ports, 56 uplinks; part prices inferred",
        "larger than any tree of these switches: no price above 384 nodes",
    ]
    assert quotes["basis"].iloc[:3].tolist() == ["none needed", "computed", "computed"]
    assert pd.isna(quotes["basis"].iloc[3])


LINES = {
    "port": "x,USD,2004,port,,,,1,,100,published,here,",
    "edge": "x,USD,2004,switch,1,8,1,1,,500,published,here,",
    "top": "x,USD,2004,switch,2,8,,1,,500,published,here,",
    "uplink": "x,USD,2004,uplink,,,,1,,10,published,here,",
}


def written(tmp_path, **lines):
    file = tmp_path / "parts.csv"
    file.write_text("\n".join([HEADER, *(line for line in (LINES | lines).values() if line)]) + "\n")
    return file


def test_a_part_list_of_a_users_own(tmp_path):
    parts = read_parts(written(tmp_path))
    # 20 nodes, 4 down and 4 up: 5 edge switches, 20 uplinks, 3 top switches
    assert tree_prices(parts, "x", [20])["price"].item() == 20 * 100 + 8 * 500 + 20 * 10


@pytest.mark.parametrize(
    ("line", "old", "new", "message"),
    [
        ("port", LINES["port"], "", "column 'part': item 'x' has no port"),
        ("uplink", LINES["uplink"], "", "column 'part': item 'x' has no uplink"),
        ("edge", LINES["edge"], "", "column 'level': item 'x' skips a level: 2"),
        ("edge", "8,1,1", "8,,1", "level 1 is below the top and needs a blocking ratio"),
        ("top", ",1,,500", ",2,,500", "line 4, column 'nodes_from': '2' must follow the sizes"),
        ("port", "port,,", "port,1,", "line 2, column 'level': '1' belongs to a switch"),
        ("top", "2,8,", "2,,", "line 4, column 'radix': belongs to a switch, and to no other part"),
        ("edge", "8,1,1", "8,0.5,1", "line 3, column 'blocking': '0.5' must be a ratio"),
        ("edge", "published", "guessed", "column 'basis': 'guessed' must be published or"),
    ],
)
def test_a_bad_part_list_is_reported_in_one_line(tmp_path, line, old, new, message):
    assert old in LINES[line]
    file = written(tmp_path, **{line: LINES[line].replace(old, new)})
    assert message in refusal(TableError, read_parts, file)


def test_sizes_of_a_level_that_overlap_are_reported_in_one_line(tmp_path):
    file = written(tmp_path, more=LINES["edge"].replace("1,8,1,1,", "1,16,1,1,"))
    assert "line 6, column 'nodes_from': '1' must follow" in refusal(TableError, read_parts, file)


@settings(max_examples=25)
@given(
    radices=st.lists(st.integers(2, 48), min_size=1, max_size=3),
    blocking=st.floats(1, 5),
    money=st.tuples(*[st.integers(0, 1000)] * 5),
)
def test_more_ports_are_never_cheaper(radices, blocking, money):
    port, uplink, *switch = money
    lines = [("port", None, None, None, port), ("uplink", None, None, None, uplink)]
    lines += [
        ("switch", level, radix, blocking, switch[level - 1]) for level, radix in enumerate(radices, start=1)
    ]
    parts = pd.DataFrame(lines, columns=["part", "level", "radix", "blocking", "price"])
    parts = parts.astype({"level": "Int64", "radix": "Int64"}).assign(item="x", nodes_from=1, nodes_to=pd.NA)
    prices = tree_prices(parts, "x", np.arange(1, 400))["price"]
    priced = prices.dropna()
    assert prices.iloc[: len(priced)].notna().all()  # no price again once a tree is too small
    assert (priced.diff().dropna() >= 0).all()


@given(nodes=st.integers(1, 3000), radix=st.integers(2, 64), blocking=st.floats(1, 4))
def test_ports_suffice_and_cables_meet_on_both_sides(nodes, radix, blocking):
    radices, blockings = [radix, radix, radix], [blocking, blocking]
    counts = count_switches([nodes], radices, blockings)
    if nodes > capacity(radices, blockings):
        assert counts["switches"].isna().all()
        return
    below = np.array([nodes, *counts["uplinks"].iloc[:-1]])
    assert (below + counts["uplinks"] <= counts["switches"] * radix).all()
    up = uplinks_of(radix, blocking)
    assert (radix - up) <= blocking * up + 1e-6
