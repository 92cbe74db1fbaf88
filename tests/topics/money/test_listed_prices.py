"""Prices of interconnects by size: surveys as printed, ends of a book's ranges, switch trees."""

import pandas as pd
import pytest
from report_parts import plain
from small_runs import ROOT

from analysis.importers import read_foreign, read_published
from analysis.presentation.labels import Labels
from analysis.presentation.style import FigureLabels
from analysis.runs.errors import TableError
from analysis.runs.facts import Facts
from analysis.topics.prices.figures import price_figures
from analysis.topics.prices.tables import list_price_sentences, make_prices
from workflows.paths import INTERCONNECTS
from workflows.study.interconnects import load_interconnect


@pytest.fixture(scope="module")
def published():
    return read_published(ROOT / "analysis/published")


def test_both_surveys_are_there_with_their_year(published):
    prices = make_prices(published, {})
    assert len(prices) == 22 + 13 and set(prices["year"]) == {2004}
    elan = prices[prices["offer"] == "half-bandwidth fat tree"]
    assert list(elan["nodes"]) == [8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
    assert elan["list_price"].iloc[-1] == 26_260_128
    ranged = prices[(prices["interconnect"] == "gigabit_ethernet") & (prices["nodes"] == 64)].iloc[0]
    assert tuple(ranged[["price_per_node", "price_per_node_low", "price_per_node_high"]]) == (250, 200, 300)


def test_a_book_gives_the_ends_of_its_ranges(ames):
    prices = make_prices({}, {"gigabit": (ames, "gigabit_ethernet")})
    assert list(prices["nodes"]) == [2, 24, 64, 128, 480]
    assert list(prices["list_price"]) == [300, 3600, 300 * 64, 300 * 128, 360_000]
    assert list(prices["price_per_node_high"].dropna()) == [400, 400]


def test_a_part_list_gives_the_published_prices_of_its_trees(parts, published):
    """48, 96, 128, 192, 256 and 384 ports come out to the dollar; the note says how the tree blocks."""
    prices = make_prices({}, {"tree": (parts, "infiniband_4x_24_port")}).set_index("nodes")
    listed = published["list_prices"]
    listed = listed[listed["switching"] == "24-port switches only"].set_index("ports")["list_price_usd"]
    both = prices["list_price"].loc[sorted({*listed.index} - {256})]
    assert both.to_dict() == listed.drop(256).to_dict()
    assert prices["note"].loc[24].startswith("1 switch") and "blocking" not in prices["note"].loc[24]
    assert prices["note"].loc[48].endswith("blocking 2:1")
    assert prices.index[-1] == 384


def test_no_price_is_no_row_and_no_figure():
    nothing = make_prices({}, {})
    assert nothing.empty and price_figures(nothing, FigureLabels.of(Facts())) == []


def test_each_offer_has_its_sentence_and_its_line(published):
    prices = make_prices(published, {})
    sentences = [plain(line) for line in list_price_sentences(prices, Labels(Facts()))]
    assert (
        "Myrinet single port, 2004: the price per node is 850 USD at 128 nodes and 1737 USD at 1024 nodes."
        in sentences
    )
    assert (
        "InfiniBand 4x, 2004: the price per node is 1400 [1200, 1600] USD (number of nodes not stated)."
        in sentences
    )
    (drawing,) = price_figures(prices, FigureLabels.of(Facts(), prices["interconnect"]))
    (legend,) = drawing.figure.legends
    assert len(legend.get_texts()) == len(sentences) == 11
    texts = [plain(mark.text) for mark in drawing.marks.values()]
    assert "Quadrics Elan4, half-bandwidth fat tree, 2004\n8192 nodes: 26 260 128 USD" in texts


def test_only_a_price_list_may_have_a_year(tmp_path):
    (tmp_path / "list.csv").write_text("interconnect,nodes,usd_per_node,usd_per_node_high,note\nx,8,10,,\n")
    derived = read_foreign(tmp_path / "list.csv").derived
    assert pd.isna(
        make_prices({name: rows.assign(source="s") for name, rows in derived.items()}, {})["year"][0]
    )
    (tmp_path / "odd.csv").write_text("case,interconnect,peak_processes,note,year\na,b,8,,2004\n")
    with pytest.raises(TableError):
        read_foreign(tmp_path / "odd.csv", "derived")


def test_every_price_of_the_survey_of_2004_is_carried_by_a_ready_interconnect(ames):
    loaded = [load_interconnect(file.stem, INTERCONNECTS) for file in INTERCONNECTS.glob("*.yaml")]
    carried = {interconnect.price["item"] for interconnect in loaded if interconnect.price}
    assert set(ames["item"]) - carried == {"sci_2d", "sci_3d"}  # without the software that ran
