"""A report of a case that was measured on few processes and simulated on more."""

from dataclasses import replace

import pandas as pd
import pytest
from report_parts import part, sentences_of
from synthetic_study import make_runs, make_whole_study

from analysis.pipeline import draw_figures
from analysis.report import make_report
from analysis.runs.facts import AboutInterconnect

SECONDS = {"slow": {2: 6.0, 8: 4.0, 32: 5.0}, "swift": {2: 5.5, 8: 1.5, 32: 0.8}}


@pytest.fixture(scope="module")
def study():
    measured = make_runs(6, levels=(1,))
    rows = [point(None, 1, 10.0)]
    rows += [
        point(name, count, seconds) for name, times in SECONDS.items() for count, seconds in times.items()
    ]
    return make_whole_study(pd.concat([measured, pd.DataFrame(rows)], ignore_index=True))


@pytest.fixture(scope="module")
def drawings(study):
    return draw_figures(*study)


@pytest.fixture(scope="module")
def report(study, drawings):
    return make_report(*study, [drawing.entry() for drawing in drawings])


def point(name, processes, seconds):
    where = {"case": "elbow", "interconnect": name, "kind": "simulated", "processes": processes}
    time = {"seconds": seconds, "seconds_low": seconds, "seconds_high": 1.5 * seconds}
    return (
        where
        | time
        | {"nodes": processes, "cores": processes, "block": 1, "repetition": 1, "application": "openfoam"}
        | {"started": "2026-01-02T00:00:00+00:00"}
    )


def test_kinds_share_no_curve_no_reference_and_no_comparison(study):
    _, tables, _ = study
    scaling = tables["scaling"]
    simulated = scaling[scaling["kind"] == "simulated"]
    assert set(simulated["reference_seconds"]) == {10.0} and simulated["processes"].max() == 32
    assert scaling.loc[scaling["kind"] != "simulated", "processes"].max() == 4
    assert not any("simulated/" in kind or "/simulated" in kind for kind in tables["improvement"]["kind"])


def test_a_band_is_no_interval_that_more_blocks_would_narrow(study, report):
    _, tables, _ = study
    assert (tables["improvement"]["kind"] == "simulated").any()
    assert not (tables["precision"]["kind"] == "simulated").any()
    assert part(report, "quality")


def test_captions_name_the_band(drawings):
    captions = {}
    for drawing in drawings:
        captions.setdefault(drawing.topic, []).append(drawing.caption)
    assert (
        "Bars are 95\u202f% intervals. Simulated values have the uncertainty band of the simulation instead."
        in captions["overview"][0]
    )
    (of_band,) = (caption for caption in captions["improvement"] if "band" in caption)
    assert of_band.endswith("Whiskers are the uncertainty band of the simulation.")


def test_a_replay_has_no_place_in_the_order_of_execution(drawings):
    order = next(drawing for drawing in drawings if drawing.topic == "order")
    labels = [text.get_text() for legend in order.figure.legends for text in legend.get_texts()]
    assert labels and not any("simulated" in text for text in labels)


def test_page_one_states_model_and_core_speed_of_simulated_runs(study, report):
    words = sentences_of(part(report, "words"))
    assert (
        "A verdict of “faster” or “slower” requires a p-value of at most 0.05 after Holm's correction."
        in words
    )
    assert (
        "For simulated times, a verdict requires that the whole uncertainty band of the improvement lies on one "
        "side of 0." in words
    )
    runs, tables, facts = study
    answers = {}
    for speed in (0.15, 1):
        model = {"source": "A paper.", "host": {"host_speed": speed}}
        modelled = {name: AboutInterconnect.of({"model": model}) for name in SECONDS}
        about = replace(facts, interconnects={**facts.interconnects, **modelled})
        answers[speed] = sentences_of(part(make_report(runs, tables, about, []), "words"))
    assert "Simulated cores have 0.15 times the speed of the cores that recorded the traces." in answers[0.15]
    assert "Simulated cores" not in answers[1]


def test_simulated_points_are_no_repetitions(report):
    text = sentences_of(part(report, "asked"))
    assert "No run is invalid. The study also has 7 simulated times." in text
