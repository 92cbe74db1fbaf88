"""Section on scaling models: the best model of each curve, its prediction, and its range."""

import numpy as np
import pandas as pd
import pytest
from drawn import drawn
from report_parts import blocks, part, plain, sentences_of
from synthetic_study import make_runs, make_whole_study

from analysis.presentation.labels import Labels
from analysis.presentation.style import FigureLabels
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.topics.models.figures import model_figures
from analysis.topics.models.sentences import compared_models, counts_needed, omitted_sentences, peak_text

COUNTS = (1, 2, 4, 8, 16, 32)
CURVE = {"case": "elbow", "interconnect": "a", "kind": "measured", "oversubscription": 1, "threads": 1}
CURVE |= {"processes_per_node": np.nan}


def model(name="usl", held_out=1.0, best=True, peak=23.4, **values):
    row = CURVE | {
        "model": name,
        "held_out_percent": held_out,
        "best": best,
        "fitted_to": 16,
        "predicted_to": 64,
    }
    row |= {"peak_processes": peak, "peak_low": np.nan, "peak_high": np.nan}
    return row | {"limit_speedup": 9.0, "limit_low": 8.0, "limit_high": 10.0} | values


class TestSentences:
    def test_a_peak_beyond_the_extrapolation_is_infinite(self):
        assert peak_text(model(peak_low=20.4, peak_high=26.1)) == "23.4 [20.4, 26.1]"
        assert peak_text(model()) == "23.4" and peak_text(model(peak=np.inf)) == "∞"

    def test_one_model_alone_is_not_the_best_of_anything(self):
        models = pd.DataFrame([model(), model("amdahl", np.nan, best=False)])
        assert compared_models(models).empty
        assert "at least 4 process counts. Every curve has fewer process counts." in plain(
            omitted_sentences(models, Labels(Facts()))
        )

    @pytest.mark.parametrize(("error", "shown"), [(29.0, True), (31.0, False)])
    def test_a_model_that_misses_the_omitted_counts_is_not_shown(self, error, shown):
        models = pd.DataFrame([model(held_out=error), model("amdahl", 50.0, best=False)])
        assert len(compared_models(models)) == shown
        text = plain(omitted_sentences(models, Labels(Facts())))
        assert text == (
            "" if shown else "No model fits 1 of 1 curve: each model has a held-out error above 30 %."
        )

    @pytest.mark.parametrize("scaling", ["strong", "weak"])
    def test_two_models_take_four_counts(self, scaling):
        assert counts_needed(scaling) == 4


@pytest.fixture(scope="module")
def study():
    return make_whole_study(make_runs(6, levels=(1,), counts=COUNTS))


@pytest.fixture(scope="module")
def drawings(study):
    return drawn(study, model_figures)


@pytest.fixture(scope="module")
def page(study, drawings):
    return part(make_report(*study, [drawing.entry() for drawing in drawings]), "models")


def words(study):
    """Return the section without its figures."""
    return part(make_report(*study, []), "models")


class TestReport:
    def test_the_peak_agrees_with_the_times(self, study, page):
        # work 4 s and 0.1 s a process over loopback: 4/p + 0.1 p is least at sqrt(40) = 6.3 processes
        row = study[1]["models"].query("case == 'elbow' and interconnect == 'loopback' and best").iloc[0]
        assert row["peak_processes"] == pytest.approx(40**0.5, rel=0.05)
        (table,) = blocks(page, "table")
        titles = [" ".join(column["title"]) for column in table["columns"]]
        (cells,) = [row["cells"] for row in table["groups"][0]["rows"] if row["cells"][0] == "TCP loopback"]
        assert cells[titles.index("Peak (processes)")].startswith(f"{row['peak_processes']:.2f} ")

    def test_a_figure_a_case_with_a_panel_a_curve(self, drawings, page):
        figures = blocks(page, "figure")
        assert [figure["case"] for figure in figures] == ["elbow", "cavity"]
        named = {drawing.name: drawing for drawing in drawings}
        for figure in figures:
            panels = [axes for axes in named[figure["name"]].figure.axes if axes.axison]
            assert len(panels) == 3 and all(axes.get_title(loc="left") for axes in panels)
        assert "Dashed lines end at 2 times the largest count." in figures[0]["caption"]

    def test_nothing_is_drawn_beyond_the_factor(self, drawings):
        drawing = next(figure for figure in drawings if figure.topic == "models")
        assert drawing.figure.axes
        for axes in drawing.figure.axes:
            assert max(line.get_xdata().max() for line in axes.lines) == 2 * max(COUNTS)

    def test_extrapolated_curves_are_dashed(self, drawings):
        drawing = next(figure for figure in drawings if figure.topic == "models")
        lines = [line for axes in drawing.figure.axes for line in axes.lines]
        beyond = [line.get_xdata().max() > max(COUNTS) for line in lines]
        assert any(beyond) and [line.is_dashed() for line in lines] == beyond

    def test_a_row_a_curve(self, page):
        (table,) = blocks(page, "table")
        curves = {group["title"]: len(group["rows"]) for group in table["groups"]}
        assert curves == {"Duct elbow": 3, "Lid-driven cavity": 3}

    def test_three_counts_are_one_sentence_and_no_panel(self):
        study = make_whole_study(make_runs(6, levels=(1,), counts=(1, 2, 4)))
        page, labels = words(study), FigureLabels.of(study[2])
        assert model_figures(study[1], labels) == []
        assert [block["type"] for block in page["blocks"]] == ["paragraph"]
        assert "at least 4 process counts. Every curve has fewer process counts." in sentences_of(page)

    def test_curves_with_too_few_counts_are_reported(self):
        runs = make_runs(6, levels=(1,), counts=COUNTS, cases=("elbow",))
        runs = runs[(runs["interconnect"] != "gigabit") | (runs["processes"] < 8)]
        page = words(make_whole_study(runs))
        assert (
            "only on curves with at least 4 process counts. 1 of 3 curves has fewer process counts."
            in sentences_of(page)
        )

    def test_weak_scaling_predicts_the_scaled_speedup(self):
        runs = make_runs(6, levels=(1,), counts=COUNTS, cases=("elbow",), weak=True)
        page = words(make_whole_study(runs, scaling="weak"))
        (table,) = blocks(page, "table")
        titles = [" ".join(head["title"]) for head in table["columns"]]
        assert titles[-2:] == ["Predicted to (processes)", "Scaled speedup there"]
        assert not any("Peak" in title or "Limit" in title for title in titles)
        assert {row["cells"][-2] for row in table["groups"][0]["rows"]} == {"64"}
