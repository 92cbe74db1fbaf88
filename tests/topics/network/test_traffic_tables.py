"""Tables of traffic patterns from the details of runs: medians, processes, titles."""

from itertools import product

import pandas as pd
import pytest
from runs_with_details import traffic_of

from analysis.presentation import style
from analysis.runs.facts import Facts
from analysis.topics.traffic.figures import traffic_figures
from analysis.topics.traffic.tables import TRAFFIC_TABLES, make_traffic_tables, with_titles

RUNS = pd.DataFrame(
    {"site": None, "case": "uniform", "interconnect": "shared_memory", "kind": "measured", "oversubscription": 1,
     "nodes": 1, "processes": 2},
    index=range(3),
)  # fmt: skip


def row(load, accepted, rates, **others):
    return {
        "pattern": "uniform", "job": "compute", "offered_load": load, "beside_load": None,
        "accepted_load": accepted, "offered_MBps": 100 * load, "accepted_MBps": 100 * accepted,
        "target_MBps": 100 * accepted, "link_MBps": 100.0, "fairness": 0.9, "delay_seconds_p50": 0.01,
        "clients": 2, "targets": 2, "messages": 10, "completed": 9, "withheld": 1, "process": [0, 1],
        "process_MBps": rates, **others,
    }  # fmt: skip


def tables_of(details):
    return make_traffic_tables(*traffic_of(RUNS.head(len(details)), details))


def test_medians_over_runs_by_hand():
    details = [
        {"rows": [row(1.2, load, [delay, 2.0])]} for load, delay in ((0.2, 1.0), (0.6, 3.0), (0.4, 8.0))
    ]
    tables = tables_of(details)
    (medians,) = tables["traffic"].to_dict("records")
    loads = [medians[f"accepted_load{end}"] for end in ("", "_lowest_run", "_highest_run")]
    assert loads == [0.4, 0.2, 0.6]
    assert (medians["messages"], medians["completed"], medians["withheld"], medians["runs"]) == (30, 27, 3, 3)
    assert pd.isna(medians["slowdown"])
    assert list(tables["traffic_processes"]["accepted_MBps"]) == [3.0, 2.0]


def test_loads_rise_and_jobs_are_separate():
    rows = [row(1.2, 0.5, [1, 1]), row(0.1, 0.1, [1, 1]), row(0.1, 0.1, [1, 1], job="io", beside_load=0.5)]
    table = tables_of([{"rows": rows}])["traffic"]
    loads = list(zip(table["job"], table["offered_load"], strict=True))
    assert loads == [("compute", 0.1), ("compute", 1.2), ("io", 0.1)]


def test_nothing_accepted_is_no_missing_value():
    tables = tables_of([{"rows": [row(1.2, 0.0, [0.0, 0.0], fairness=None)]}])
    (line,) = tables["traffic"].to_dict("records")
    assert line["accepted_load"] == 0 and pd.isna(line["fairness"])


@pytest.mark.parametrize("details", [{}, {"rows": []}, {"rows": [{"bytes": 8, "seconds_p50": 1e-6}]}])
def test_other_programs_have_no_rows(details):
    tables = tables_of([details])
    for name, schema in TRAFFIC_TABLES.items():
        assert list(tables[name]) == list(schema.columns) and tables[name].empty


def test_titles_name_the_choices_that_vary():
    common = {"pattern": "multiple_hot_spots", "write_ratio": 0.5, "sizes": "uniform"}
    choices = [common | {"io_mapping": mapping} for mapping in ("clustered_io", "distributed")]
    rows = [row(1.0, 0.5, [1, 1], **chosen) for chosen in (*choices, {})]
    titles = set(with_titles(tables_of([{"rows": rows}])["traffic"])["title"])
    spots = "multiple hot spots"
    assert titles == {f"{spots}, clustered under the I/O job", f"{spots}, distributed", "uniform"}


def test_panels_of_a_pattern_of_many_choices_have_titles_of_their_own():
    ways = ("clustered", "distributed"), ("shared", "dedicated"), ("random", "deterministic")
    choices = list(product(*ways))
    names = ("io_mapping", "application_mapping", "destinations")
    rows = [
        row(load, 0.5, [1, 1], pattern="multiple_hot_spots", **dict(zip(names, chosen, strict=True)))
        for chosen in choices
        for load in (0.1, 0.5)
    ]
    tables = tables_of([{"rows": rows}])
    drawing, *_ = traffic_figures(tables, style.FigureLabels.of(Facts(), ["shared_memory"]))
    titles = {axes.get_title(loc="left") for axes in drawing.figure.axes}
    assert len(titles) == len(choices) and not any("…" in title for title in titles)


def test_message_sizes_distributions_and_compute_loads_have_figures_of_their_own():
    both = [
        (size, interval) for size in ("uniform", "exponential") for interval in ("uniform", "exponential")
    ]
    rows_of_case = {
        "uniform": [row(load, load, [1, 1], mean_bytes=1024) for load in (0.1, 0.5)],
        "uniform-sizes": [row(1.2, 0.5, [1, 1], mean_bytes=size) for size in (1024, 4096)],
        "uniform-both": [
            row(load, load, [1, 1], mean_bytes=1024, sizes=size, intervals=interval)
            for size, interval in both
            for load in (0.1, 0.5)
        ],
        "combined": [
            row(load, 0.5, [1, 1], pattern="combined", io_mapping=place, application_mapping="shared",
                mean_bytes=1024, **with_other_job)
            for load in (0.3, 0.9)
            for place in ("clustered_io", "distributed")
            for with_other_job in ({}, {"beside_load": 0.5, "slowdown": 2.0})
        ],
    }  # fmt: skip
    runs = pd.concat([RUNS.head(1).assign(case=case) for case in rows_of_case], ignore_index=True)
    tables = make_traffic_tables(*traffic_of(runs, [{"rows": rows} for rows in rows_of_case.values()]))
    drawn = {
        drawing.name: drawing
        for drawing in traffic_figures(tables, style.FigureLabels.of(Facts(), ["shared_memory"]))
    }
    assert set(drawn) == {
        "traffic-load-2", "traffic-sizes", "traffic-distributions-shared_memory", "traffic-processes",
        "traffic-combined-shared_memory", "traffic-slowdown", "traffic-map",
    }  # fmt: skip
    (axes,) = drawn["traffic-load-2"].figure.axes
    assert axes.get_title(loc="left") == "uniform"
    legend = drawn["traffic-distributions-shared_memory"].figure.legends[0]
    assert {text.get_text() for text in legend.get_texts()} == {f"{size} S, {time} T" for size, time in both}
    cells = [text.get_text() for text in drawn["traffic-map"].figure.axes[0].texts]
    assert cells == ["50", "50"]  # beside the I/O job half of the bandwidth is lost
    points = [mark.text for mark in drawn["traffic-sizes"].marks.values() if mark.text]
    assert len(points) == 2 and "mean message 4\u202fKiB: MB/s 50" in points[-1]
