"""Published links side by side: SDR, DDR and QDR, copper and fiber, IPoIB and verbs."""

import pandas as pd
import pytest
from report_parts import plain
from small_runs import ROOT

from analysis.importers import read_published
from analysis.topics.network.links import link_figures, link_name, link_sentences, make_links


@pytest.fixture(scope="module")
def links():
    return make_links(read_published(ROOT / "analysis/published"))


def test_a_row_a_link_with_both_quantities(links):
    assert len(links) == 7 and links[["bidirectional_Gbps", "latency_us"]].notna().all(axis=None)
    row = links[(links["rate"] == "SDR")].iloc[0]
    assert (row["bidirectional_Gbps"], row["latency_us"]) == (15.61, 3.14)


def test_links_are_compared_that_differ_in_one_thing(links):
    sentences = list(map(plain, link_sentences(links)))
    assert len(sentences) == 6  # three pairs of rates, copper and fiber, a switch and none, verbs and IPoIB
    assert sentences[-1] == (
        "QDR, fiber, verbs against QDR, fiber, IPoIB: the bandwidth in both directions is 55 against 32 Gbit/s, a "
        "factor of 1.7. The latency is 1.5 against 50 µs, a factor of 33."
    )


def test_links_without_known_factors_are_not_compared():
    rows = pd.DataFrame(
        {"rate": ["QDR", "DDR"], "medium": ["copper", None], "path": ["switched"] * 2,
         "bidirectional_Gbps": [50.0, 20.0], "latency_us": [1.0, 2.0], "source": ["a", "a"], "site": [None] * 2}
    )  # fmt: skip
    assert link_sentences(rows) == [] and link_name(rows.iloc[1].to_dict()) == "DDR, switched"


def test_without_statements_there_is_neither_table_nor_figure():
    assert make_links({}).empty and link_figures(make_links({})) == []


def test_a_bar_a_link_and_quantity(links):
    (drawing,) = link_figures(links)
    assert len(drawing.marks) == 14
    assert all("(published)" in mark.text for mark in drawing.marks.values())
