"""Price books: the published ones, interpolation between sizes, and bad files."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refusal
from small_runs import ROOT

from analysis.runs.runs import TableError
from analysis.topics.prices.books import BOOK, QUOTE, quote, read_book

HEADER = ",".join(BOOK.columns)
GOOD = "myrinet,USD,2004,2,128,node,850,,,1024,a survey,"
OLD = "old,USD,2004,2,8,node,1,,,1024,a survey,"


def price(book, item, nodes):
    return quote(book, item, [nodes])["price_per_node"].item()


def written(tmp_path, *lines, header=HEADER):
    file = tmp_path / "book.csv"
    file.write_text("\n".join([header, *lines]) + "\n")
    return file


def test_the_book_of_list_prices_is_the_published_one(sandia):
    published = pd.read_csv(ROOT / "analysis/published/list_price.csv")
    items = {"288-port core, 24-port edge": "288_port", "24-port switches only": "24_port"}
    assert set(items) <= set(published["switching"])
    for row in published.itertuples():
        item = f"infiniband_4x_{items[row.switching]}" if row.switching in items else row.interconnect
        per_port = price(sandia, item, row.ports)
        assert per_port * row.ports == pytest.approx(row.list_price_usd)
        assert round(per_port) == row.price_per_port_usd


def test_the_survey_book_is_the_published_one_where_that_gives_a_price_and_a_size(ames):
    published = pd.read_csv(ROOT / "analysis/published/cost_per_node.csv").dropna(subset="nodes")
    published = published[~published["note"].str.startswith("switch port alone")]
    assert len(published)
    for row in published.itertuples():
        assert price(ames, row.interconnect, int(row.nodes)) == row.usd_per_node
    assert price(ames, "quadrics_elan4", 8) == 2400
    infiniband = quote(ames, "infiniband_4x", [2, 500])
    assert infiniband["price_per_node_low"].tolist() == [1200, 1200]
    assert infiniband["price_per_node_high"].tolist() == [1600, 1600]


def test_inside_a_published_range_its_price_holds(ames):
    quotes = quote(ames, "myrinet_single_port", [2, 64, 128])
    assert tuple(quotes.columns) == QUOTE
    assert quotes["price_per_node"].tolist() == [850, 850, 850]
    assert set(quotes["basis"]) == {"published"}


def test_between_two_sizes_the_whole_price_is_interpolated(ames):
    # Myrinet: 128 nodes cost 108,800 and 1024 cost 1,778,688; half-way, 576, 943,744
    quotes = quote(ames, "myrinet_single_port", [576]).iloc[0]
    assert quotes["price_per_node"] == pytest.approx(943_744 / 576)
    assert (quotes["price_per_node_low"], quotes["price_per_node_high"]) == (850, 1737)
    assert quotes["basis"] == "interpolated"
    assert quotes["note"] == "between the published sizes 128 and 1024"


def test_beyond_the_published_sizes_there_is_no_price_but_a_reason(ames, sandia):
    reasons = {
        ("sci_2d", 101): "at most 100 nodes",
        ("gigabit_ethernet", 481): "at most 480 nodes",
        ("myrinet_dual_port", 129): "no price above 128 nodes, the largest published size",
        ("myrinet_dual_port", 1025): "at most 1024 nodes",
        ("quadrics_elan4", 7): "no price below 8 nodes, the smallest published size",
    }
    for (item, nodes), reason in reasons.items():
        quotes = quote(ames, item, [nodes]).iloc[0]
        assert np.isnan(quotes["price_per_node"])
        assert pd.isna(quotes["basis"])
        assert quotes["note"] == reason
    assert np.isnan(price(sandia, "infiniband_4x_24_port", 385))
    assert np.isnan(price(sandia, "quadrics_elan4", 8193))


def test_one_node_needs_no_interconnect(ames):
    quotes = quote(ames, "quadrics_elan4", [1]).iloc[0]
    assert quotes["price_per_node"] == 0
    assert quotes["basis"] == "none needed"


def test_an_unknown_item_is_named(ames):
    with pytest.raises(TableError, match="no item 'token_ring'; known are gigabit_ethernet, "):
        quote(ames, "token_ring", [2])


@pytest.mark.parametrize(
    ("old", "new", "column", "message"),
    [
        ("850", "cheap", "price", "'cheap' is no number"),
        ("850", "-1", "price", "'-1' must be a price, 0 or more"),
        ("850", "inf", "price", "'inf' must be a price, 0 or more"),
        ("850", "", "price", "is empty: state a price, or price_low and price_high"),
        ("850,,", "850,900,", "price_low", "'900' is above the price or price_high"),
        ("850,,", "850,,800", "price_high", "'800' is below the price"),
        ("USD", "dollars", "currency", "'dollars' must be three capital letters, such as USD"),
        ("2004", "04", "year", "'04' must be a year"),
        (",2,128", ",2.5,128", "nodes_from", "'2.5' is no whole number"),
        (",2,128", ",1,128", "nodes_from", "'1' must be 2 or more"),
        (",2,128", ",128,64", "nodes_to", "'64' is below nodes_from"),
        ("1024", "100", "max_nodes", "'100' is below nodes_to"),
        ("node", "port", "per", "'port' must be node or cluster"),
        ("node", "cluster", "nodes_to", "'128' must equal nodes_from if the price is"),
        ("a survey", "", "source", "must not be empty"),
        ("myrinet", "../myrinet", "item", "'../myrinet' must be letters, digits"),
        ("myrinet", "old", "nodes_from", "'2' overlaps another row of the same item"),
        ("myrinet,USD", "old,EUR", "currency", "'EUR' differs from a previous row"),
        ("myrinet,USD,2004", "old,USD,2005", "year", "'2005' differs from a previous row"),
    ],
)
def test_a_bad_row_is_reported_in_one_line(tmp_path, old, new, column, message):
    assert old in GOOD
    file = written(tmp_path, OLD, GOOD.replace(old, new))
    assert refusal(TableError, read_book, file).startswith(f"{file}: line 3, column '{column}': {message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GOOD.replace("myrinet", '"my\nrinet"'), "line 4, column 'item': 'my rinet' must be letters, digits"),
        (GOOD + ",one more", "line 3: 13 cells where the header has 12"),
    ],
)
def test_a_row_that_is_no_line_of_a_book_is_reported_with_its_line(tmp_path, line, message):
    file = written(tmp_path, OLD, line)
    assert refusal(TableError, read_book, file).startswith(f"{file}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 'item': is missing"),
        (HEADER + "\n", "holds no row"),
        (HEADER.replace("price,", "cost,") + "\n" + GOOD, "column 'price': is missing"),
        (HEADER + ",colour\n" + GOOD + ",red", "column 'colour': is no column of this table"),
        (HEADER.replace("note", "item") + "\n" + GOOD, "line 1: a column is there twice"),
    ],
)
def test_a_bad_file_is_reported_in_one_line(tmp_path, text, message):
    file = tmp_path / "book.csv"
    file.write_text(text)
    assert message in refusal(TableError, read_book, file)


def test_a_missing_file_and_a_binary_file(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        read_book(tmp_path / "none.csv")
    (tmp_path / "book.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match="is no UTF-8 text"):
        read_book(tmp_path / "book.csv")


@settings(max_examples=30)
@given(
    sizes=st.lists(st.integers(2, 500), min_size=1, max_size=5, unique=True).map(sorted),
    steps=st.lists(st.integers(0, 10_000), min_size=5, max_size=5),
)
def test_more_nodes_never_cost_less_if_no_published_size_does(tmp_path_factory, sizes, steps):
    totals = np.cumsum(steps)
    lines = [f"x,USD,2004,{n},{n},cluster,{total},,,,here," for n, total in zip(sizes, totals, strict=False)]
    book = read_book(written(tmp_path_factory.mktemp("book"), *lines))
    nodes = np.arange(sizes[0], sizes[-1] + 1)
    quotes = quote(book, "x", nodes)
    whole = quotes["price_per_node"] * nodes
    assert whole.notna().all()
    assert (whole.diff().dropna() >= -1e-6).all()
    between = quotes[quotes["basis"] == "interpolated"]
    assert (between["price_per_node"] >= between["price_per_node_low"] - 1e-9).all()
    assert (between["price_per_node"] <= between["price_per_node_high"] + 1e-9).all()
