"""Section on simulated interconnects."""

import pandas as pd
import pytest
from report_parts import blocks, cells, sentences_of

from analysis.presentation.content import Content
from analysis.runs.facts import Facts
from analysis.topics.simulated.section import simulated

FIT = {"points": 24, "mean_percent": 0.001, "largest_percent": 0.01}
FIT |= {"left_out_points": 8, "left_out_mean_percent": 0.14, "left_out_largest_percent": 0.44}


def made(kind="simulated", host=None, tables=None, names=("swift",), **fit):
    model = {"source": "A paper, table 3.", "two_points": False, "fit": FIT | fit}
    model["host"] = host or {"host_speed": 1, "source": None}
    facts = Facts.of({"interconnects": {"swift": {"title": "Swift", "kind": kind, "model": model}}})
    runs = pd.DataFrame({"interconnect": names, "kind": kind, "application": "openfoam"})
    return simulated(Content(runs, tables or {}, facts, [], {}))


def test_each_model_stands_with_its_errors_and_its_source():
    section = made()
    (table,) = blocks(section, "table")
    assert cells(table) == [["Swift (sim)", "24", "0.00", "0.01", "8", "0.14", "0.44"]]
    (sources,) = blocks(section, "list")
    assert sources["items"] == ["Swift (sim): A paper, table 3."]
    assert "Simulated times are predictions." in sentences_of(
        section
    ) and "as fast as the cores that recorded the traces" in sentences_of(section)


def test_a_model_stands_once_for_all_numbers_of_threads():
    (table,) = blocks(made(names=["swift@2-threads", "swift", "swift@4-threads"]), "table")
    assert [row[0] for row in cells(table)] == ["Swift (sim)"]


def test_a_bad_fit_and_an_unsourced_host_give_warnings():
    sentences = sentences_of(made(mean_percent=4.0, host={"host_speed": 0.2, "source": None}))
    assert "Warning: the mean error of Swift (sim) at fitted message sizes is above 3 %." in sentences
    assert "cores have 0.2 times the speed" in sentences and "states no source of this ratio" in sentences


@pytest.mark.parametrize(("cpu", "guess"), [("AMD EPYC 7742", False), ("Intel(R) Xeon(R) Processor", True)])
def test_a_speed_that_was_meant_for_another_processor_is_called_a_guess(cpu, guess):
    host = {"host_speed": 0.15, "source": "A table.", "relative_to": "EPYC"}
    sentences = sentences_of(made(host=host, tables={"traces": pd.DataFrame({"cpu": [cpu, cpu]})}))
    assert "Simulated cores have 0.15 times the speed of the cores that recorded the traces." in sentences
    assert f"The traces were recorded on {cpu}." in sentences
    stated = sentences_of(made(host=host | {"corun_percent": 4}))
    assert "each other rank on a node slows a rank by 4 %." in stated and "slows" not in sentences
    between = sentences_of(made(host=host | {"host_speed_range": [0.13, 0.17]}))
    assert "cores have 0.15 times the speed of" in between and "ratio is 0.13 to 0.17." in between
    assert "account for this range." in between and "account for this range" not in sentences
    assert (f"The source states this ratio for EPYC. The ratio is a guess for {cpu}." in sentences) == guess


def test_a_speed_from_benchmarks_names_both_processors():
    benchmarks = {"linpack_100_Mflops": [1200.0, 8000.0], "stream_triad_MBps": [3300.0, 9000.0]}
    processor = {"name": "Opteron 246", "traced_on": "AMD EPYC", "benchmarks": benchmarks}
    host = {"host_speed": 0.15**0.5 * 0.1**0.5, "source": "A table.", "host_speed_range": [0.1, 0.15]}
    text = sentences_of(made(host=host | {"processor": processor}))
    assert "cores have 0.122 times the speed" in text and "is 0.100 to 0.150." in text and "A table." in text
    assert (
        "LINPACK of order 100 reaches 1200 Mflop/s on Opteron 246 and 8000 Mflop/s on AMD EPYC. STREAM triad"
        in text
    )
    assert (
        "3300 MB/s on Opteron 246 and 9000 MB/s" in text
        and "does not show which computing waits for memory" in text
    )
    other = pd.DataFrame({"cpu": ["Intel Xeon"]})
    assert "The ratio is a guess for Intel Xeon." in sentences_of(
        made(host=host | {"processor": processor}, tables={"traces": other})
    )
