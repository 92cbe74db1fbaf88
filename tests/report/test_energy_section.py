"""Section on energy: counted and modelled values are separate and named."""

import re

import pytest
from report_parts import blocks, cells, plain
from small_runs import rows, runs_table
from test_money_report import EXACT, content, paragraphs, study

from analysis.pipeline import make_all_tables
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Settings
from analysis.topics.energy import energy_section
from analysis.topics.topic import Request

LIFETIME = Lifetime.of({"years": 5, "utilisation": 1, "node_idle_watts": 100, "node_loaded_watts": 300})


def test_a_model_is_called_one_wherever_it_stands(tmp_path):
    section = energy_section(content(*study(tmp_path, lifetime=LIFETIME)))
    (table,) = blocks(section, "table")
    assert table["caption"].startswith("Energy from a model: idle and loaded watts of the study's economics")
    (items,) = blocks(section, "list")
    assert items["title"] == "Energy by the model"
    # 300 W for 12 s alone; the fastest takes 8 nodes 3 s
    assert paragraphs(section) == [
        "Duct: the serial run takes the least energy, 3600 [3600, 3600] J. The fastest point, Infiniband on 8 "
        "processes, takes 7200 [7200, 7200] J. The greenup of this point is 0.500 [0.500, 0.500]."
    ]
    line = ["Infiniband", "8", "7200 [7200, 7200]", "0.500 [0.500, 0.500]", "21.6 [21.6, 21.6]"]  # in kJ s
    assert line in [[plain(cell) for cell in line_of_table[:5]] for line_of_table in cells(table)]


@pytest.fixture
def both(tmp_path):
    runs, tables, facts = study(tmp_path, lifetime=LIFETIME)
    counted = runs_table(
        [
            row | {"energy_joules": 900.0, "energy_source": "RAPL: package-0"}
            for row in rows("duct", None, {1: 12.0}, EXACT)
        ],
        [
            row | {"energy_joules": 600.0, "energy_source": "RAPL: package-0"}
            for row in rows("duct", "gigabit", {2: 8.0}, EXACT)
        ],
    )
    measured = make_all_tables(counted, Request(Settings(draws=100)))["energy"]
    model = tables["energy"]
    tables["energy"] = type(model)(
        measured.to_dict("records") + model[model["interconnect"] != "gigabit"].to_dict("records")
    )
    return runs, tables, facts


def test_counted_and_modelled_energy_share_no_table(both):
    section = energy_section(content(*both))
    captions = [table["caption"] for table in blocks(section, "table")]
    assert [re.split("[:.]", caption)[0] for caption in captions] == [
        "Energy of the whole run on all machines, counted by RAPL",
        "Energy from a model",
    ]
    first, second = blocks(section, "table")
    assert [line[0] for line in cells(first)] == ["Serial run", "Gigabit"]
    assert "Gigabit" not in {line[0] for line in cells(second)}
    assert (
        paragraphs(section)[0]
        == "Duct: Gigabit on 2 processes takes the least energy, 600 [600, 600] J. This is also the fastest point."
    )


def test_kinds_that_may_not_be_compared_have_a_sentence_each(tmp_path):
    """300 W a node; the emulated one takes 6 s on two, or 8 nodes 3 s."""
    kinds = {"lifetime": LIFETIME, "kinds": ("measured", "emulated")}
    first, second = paragraphs(energy_section(content(*study(tmp_path, **kinds))))
    assert "Infiniband" not in first and "Gigabit" not in second
    (both,) = paragraphs(
        energy_section(content(*study(tmp_path, **kinds, compare=[("measured", "emulated")])))
    )
    assert "Infiniband (emu) on 8 processes" in both


def test_an_unfinished_study_names_no_lowest_energy(tmp_path):
    section = energy_section(content(*study(tmp_path, lifetime=LIFETIME, blocks=9, blocks_recorded=5)))
    assert not blocks(section, "list") and blocks(section, "table")
