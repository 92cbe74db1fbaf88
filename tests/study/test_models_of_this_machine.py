"""Models of interconnects of this machine, whose curves another study measures."""

import pytest

from workflows.paths import INTERCONNECTS
from workflows.plan.here import unavailable
from workflows.study import interconnects
from workflows.study.interconnects import digest, load_interconnect

MODELS = [
    "emulated_gigabit_model",
    "emulated_two_gigabit_model",
    "emulated_ten_gigabit_model",
    "shared_memory_model",
]


@pytest.fixture(params=MODELS)
def model(request, monkeypatch, tmp_path):
    monkeypatch.setattr(interconnects, "ROOT", tmp_path)
    return load_interconnect(request.param, INTERCONNECTS)


def test_each_predicts_an_interconnect_that_is_there(model):
    real = load_interconnect(model.simulate["predicts"], INTERCONNECTS)
    assert real.kind != "simulated" and model.simulate["curve"]["interconnect"] == real.name
    assert model.simulate["one_machine"]


def test_without_its_curve_it_names_the_study_that_measures_it(model):
    message = "there is no results/validation/tables/network.csv: run the study validation first"
    assert unavailable(model) == message


def test_a_changed_curve_changes_the_digest_of_the_model(model, tmp_path):
    curve = tmp_path / model.simulate["curve"]["file"]
    curve.parent.mkdir(parents=True)
    digests = [digest(model)]
    for text in ("one", "another"):
        curve.write_text(text)
        digests.append(digest(model))
    assert len(set(digests)) == 3 and unavailable(model) is None
