"""ReFrame's reports and performance logs."""

import json
import re

import pandas as pd
import pytest
from refused import refusal

from analysis.importers import make_mapping, read_foreign
from analysis.runs.runs import TableError

BY_SIZE = {"case": {"from": ["test", "size"]}}


def times(runs):
    return runs.groupby(["interconnect", "processes"])["seconds"].agg(list).to_dict()


def test_a_report_becomes_runs_without_a_mapping(foreign):
    imported = read_foreign(foreign / "reframe/report_4.10.json")
    assert imported.unread == [] and imported.curves.empty and not imported.derived
    runs = imported.runs
    assert set(runs["case"]) == {"jacobi"} and set(runs["kind"]) == {"published"}
    assert times(runs) == {
        ("shared_memory", 1): [0.037, 0.0385],
        ("shared_memory", 2): [0.0478, 0.0365],
        ("tcp_loopback", 1): [0.0575, 0.0643],
        ("tcp_loopback", 2): [0.0394, 0.0443],
    }
    assert (runs["nodes"] == 1).all() and runs["valid"].all()
    assert runs["record"][2] == "report_4.10.json: test case 3 (jacobi_2)"


def test_the_older_report_format_holds_its_parameters_in_the_name(foreign):
    runs = read_foreign(foreign / "reframe/report_4.3.json").runs
    assert times(runs)["tcp_loopback", 2] == [0.0979, 0.3511]
    assert len(runs) == 8


def test_a_performance_log_gives_the_same_runs_as_the_report(foreign):
    files = ("jacobi_4.10.log", "report_4.10.json")
    both = (read_foreign(foreign / "reframe" / file).runs.drop(columns=["record", "nodes"]) for file in files)
    pd.testing.assert_frame_equal(*both)


def test_a_missed_performance_reference_does_not_make_a_run_invalid(foreign):
    runs = read_foreign(foreign / "reframe/jacobi_4.3.log").runs
    assert runs["valid"].all() and times(runs)["shared_memory", 2] == [0.2212, 0.6037]
    runs = read_foreign(foreign / "reframe/report_failures_4.10.json", mapping=make_mapping(BY_SIZE)).runs
    assert runs.loc[runs["case"] == "jacobi-4096", "seconds"].tolist() == [9.0516, 6.9486]


def test_a_wrong_answer_does(foreign):
    imported = read_foreign(foreign / "reframe/report_failures_4.10.json", mapping=make_mapping(BY_SIZE))
    wrong = imported.runs[~imported.runs["valid"]]
    assert wrong["case"].tolist() == ["jacobi-0", "jacobi-0"] and wrong["seconds"].isna().all()
    assert wrong["reason"].tolist() == ["sanity error: pattern 'Cells: [1-9]' not found in 'rfm_job.out'"] * 2
    (greeting,) = imported.unread
    assert greeting.endswith(
        "report_failures_4.10.json: test case 7 (greeting): 'case' (test, size) is empty (sanity error: "
        "pattern 'hello' not found in 'rfm_job.out')"
    )


def test_a_folder_of_performance_logs(foreign):
    imported = read_foreign(foreign / "reframe/perflogs", mapping=make_mapping(BY_SIZE))
    valid = {"jacobi-0": [False] * 2, "jacobi-256": [True] * 2, "jacobi-4096": [True] * 2}
    assert imported.runs.groupby("case")["valid"].agg(list).to_dict() == valid
    assert len(imported.unread) == 1 and "greeting.log: line 2" in imported.unread[0]


def test_runs_that_differ_in_a_parameter_are_no_repetitions(foreign):
    with pytest.raises(TableError, match=r"'size' takes several values .* \(0, 256, 4096\): make it part of"):
        read_foreign(foreign / "reframe/report_failures_4.10.json")
    lenient = make_mapping({"may_differ": ["size"]})
    imported = read_foreign(foreign / "reframe/report_failures_4.10.json", mapping=lenient)
    assert set(imported.runs["case"]) == {"jacobi"}


def test_variables_and_units_of_a_mapping(foreign):
    mapping = make_mapping(
        {
            "case": {"from": "descr", "names": {"Jacobi sweeps on a square": "square"}},
            "interconnect": {"from": ["system", "interconnect"]},
            "kind": {"value": "measured"},
            "seconds": {"from": "rate", "unit": "ms"},
            "block": "run_index",
        }
    )
    runs = read_foreign(foreign / "reframe/report_4.10.json", mapping=mapping).runs
    assert set(runs["case"]) == {"square"} and set(runs["kind"]) == {"measured"}
    assert set(runs["interconnect"]) == {"laptop-shared_memory", "laptop-tcp_loopback"}
    assert runs["seconds"][0] == pytest.approx(1.4169945945945947)
    assert set(runs["block"]) == {0}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"case": "nonsense"}, r"mapping: key 'case': 'nonsense' is no variable of .*report_4\.10\.json"),
        ({"case": "descr"}, r"test case 1 \(jacobi_0\), column 'case': 'Jacobi sweeps on a square': it must"),
        ({"case": "filename"}, r"test case 1 \(jacobi_0\), column 'case': '/tmp/imp/rfm/test_jacobi.py': it"),
        ({"seconds": "rate"}, r"'seconds' \(rate\) has the unit 'Mcells/s', which is no time"),
        ({"seconds": "jobid"}, r"'seconds' \(jobid\) has no unit: give it in a mapping"),
        ({"nodes": "environ"}, r"test case 1 \(jacobi_0\), column 'nodes': 'gnu' is no number"),
    ],
)
def test_a_wrong_mapping_is_reported_in_one_line(foreign, mapping, message):
    report = foreign / "reframe/report_4.10.json"
    assert re.search(message, refusal(TableError, read_foreign, report, mapping=make_mapping(mapping)))


def changed(path, change):
    report = json.loads(path.read_text())
    change(report, report["runs"][0]["testcases"])
    return json.dumps(report)


def test_a_damaged_test_case_is_skipped_and_reported(foreign, written):
    def damage(report, cases):
        del cases[0]["fail_phase"]
        cases[1]["perfvalues"] = {"laptop:cores:solving_time": [1]}
        cases[2]["perfvalues"]["laptop:cores:solving_time"][0] = None
        cases[3] = "nonsense"
        report["restored_cases"] = [{}, {}]

    imported = read_foreign(written(changed(foreign / "reframe/report_4.10.json", damage)))
    assert len(imported.runs) == 4
    expected = [
        "test case 1: not as ReFrame writes it: the key 'fail_phase' is missing",
        "test case 2: not as ReFrame writes it: a value has another form (",
        "test case 4: not as ReFrame writes it: a value has another form (",
        "restored_cases: 2 test cases of an earlier session",
        "test case 3 (jacobi_2): 'seconds' (solving_time) is empty",
    ]
    printed = [line.split(": ", 1)[1] for line in imported.unread]
    assert [line[: len(start)] for line, start in zip(printed, expected, strict=True)] == expected


@pytest.mark.parametrize("bad", ["../report", 'ja"cobi', "ja\ncobi", "ja cobi"])
def test_names_that_could_leave_a_folder_or_a_cell_are_refused(foreign, written, bad):
    text = changed(foreign / "reframe/report_4.10.json", lambda _, cases: cases[4].update(interconnect=bad))
    with pytest.raises(TableError, match=r"test case 5 \(jacobi_4\), column 'interconnect': .* it must be"):
        read_foreign(written(text))


def test_two_times_are_not_guessed_between(foreign, written):
    text = changed(
        foreign / "reframe/report_4.10.json",
        lambda _, cases: cases[0]["perfvalues"].update({"l:c:setup": [1, 0, None, None, "ms", "pass"]}),
    )
    with pytest.raises(TableError, match=r"'seconds': several variables are times \(setup, solving_time\)"):
        read_foreign(written(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", r"is JSON, but no report of ReFrame \(session_info\) and no result of iperf3"),
        ('{"session_info": {"data_version": "9.0"}, "runs": []}', r"data_version 9\.0 is not known"),
        ('{"session_info": {"data_version": "4.2"}, "runs": []}', "holds no run$"),
        ('{"session_info": ', "line 1: cut off or damaged: Expecting value"),
        ('{"a":' * 100_000, "is nested too deeply to be a report"),
    ],
)
def test_files_that_are_no_report(written, text, message):
    with pytest.raises(TableError, match=message):
        read_foreign(written(text))


def test_a_log_with_a_row_too_long_or_cut_off(foreign, written):
    whole = (foreign / "reframe/jacobi_4.10.log").read_text()
    damaged = whole.replace("|laptop|jacobi_3|", "|laptop|jacobi|3|").removesuffix("\n")
    imported = read_foreign(written(damaged))
    assert len(imported.runs) == 6
    assert "line 5: 38 cells where the header has 37" in imported.unread[0]
    assert "line 9: cut off" in imported.unread[1]


def test_a_log_in_another_format_states_it(written):
    with pytest.raises(TableError, match="line 1: has not the header of ReFrame's default format"):
        read_foreign(written("2026-11-21|reframe 3.12|jacobi|time=1\n"), "reframe-perflog")


@pytest.mark.parametrize("file", ["hybrid_4.10.json", "hybrid_4.10.log"])
def test_threads_and_energy_need_no_mapping(foreign, file):
    imported = read_foreign(foreign / "reframe" / file)
    columns = ["processes", "threads", "cores", "seconds", "energy_joules"]
    assert imported.unread == [] and imported.runs[columns].to_numpy().tolist() == [
        [2, 1, 2, 1.4347, 4.745],
        [2, 1, 2, 1.2328, 4.849],
        [1, 2, 2, 0.9970, 4.840],
        [1, 2, 2, 1.0692, 5.166],
    ]
