"""Slurm's accounting as a runs table."""

import pandas as pd
import pytest
from refused import refusal

from analysis.importers import make_mapping, read_foreign
from analysis.importers.__main__ import arguments, convert
from analysis.runs.runs import TableError, read_runs

NAMES = {
    "pattern": {"JobName": r"(?P<case>wing)_(?P<interconnect>ib|eth)_(?P<processes>\d+)"},
    "interconnect": {"from": "interconnect", "names": {"ib": "infiniband", "eth": "gigabit_ethernet"}},
    "kind": {"value": "measured"},
}


@pytest.fixture
def year(foreign):
    return foreign / "sacct/year.txt"


@pytest.fixture
def dump(tmp_path):
    def write(*lines):
        file = tmp_path / "dump.txt"
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    return write


def test_a_year_of_jobs_is_a_runs_table(year):
    imported = read_foreign(year, mapping=make_mapping(NAMES))
    runs = imported.runs
    columns = ["interconnect", "processes", "nodes", "cores", "seconds", "valid"]
    assert runs[columns].to_numpy().tolist() == [
        ["infiniband", 32, 1, 32, 812, True],
        ["infiniband", 64, 2, 64, 431, True],
        ["gigabit_ethernet", 64, 2, 64, 901, True],
        ["gigabit_ethernet", 128, 4, 128, 93_784, False],
        ["gigabit_ethernet", 32, 1, 32, 77, False],
        ["infiniband", 128, 4, 256, 300, True],
        ["infiniband", 64, 2, 64, 433, True],
        ["infiniband", 32, 1, 32, 20, False],
    ]
    assert set(runs["case"]) == {"wing"} and set(runs["kind"]) == {"measured"}
    assert runs["record"][0] == "year.txt: line 2 (job 4101)"
    assert [line.partition(": ")[2] for line in imported.unread] == [
        "jobs that never ran: 1",
        "jobs that have not ended: 1",
        f"runs whose JobName does not match {NAMES['pattern']['JobName']}: 1",
    ]


def test_a_time_limit_is_a_bound_and_a_failure_is_invalid(year):
    runs = read_foreign(year, mapping=make_mapping(NAMES)).runs
    stopped = runs[runs["censored"]]
    assert stopped["seconds"].tolist() == [93_784] and stopped["reason"].tolist() == [
        "stopped at its time limit"
    ]
    failed = runs[~runs["valid"] & ~runs["censored"]]
    assert failed["reason"].tolist() == ["Slurm: OUT_OF_MEMORY", "Slurm: a step FAILED"]


def test_energy_is_the_one_counted_by_slurm_for_the_job(year):
    runs = read_foreign(year, mapping=make_mapping(NAMES)).runs
    assert runs["energy_joules"].tolist()[:3] == [292_320, 310_320, pytest.approx(float("nan"), nan_ok=True)]


def test_a_job_whose_energy_slurm_counted_on_a_real_machine(foreign):
    """Energy of the job, not of its steps, which repeat it; threads are CPUs per task, as the user states."""
    named = {"case": {"from": "JobName"}, "interconnect": {"value": "slingshot"}, "processes": "ntasks"}
    imported = read_foreign(
        foreign / "sacct/alps.txt", mapping=make_mapping(named | {"threads": {"value": 72}})
    )
    [row] = imported.runs.to_dict("records")
    values = [
        row[key] for key in ("nodes", "processes", "threads", "cores", "seconds", "energy_joules", "valid")
    ]
    assert imported.unread == [] and values == [4, 16, 72, 1152, 2102, 20_543_125, True]


def test_the_time_of_the_step_can_be_chosen(year):
    mapping = make_mapping(NAMES | {"seconds": {"from": "step_seconds", "unit": "s"}})
    imported = read_foreign(year, mapping=mapping)
    assert imported.runs["seconds"].tolist()[:3] == [790, 410, 880]
    message = (
        "line 17 (job 4106): 'seconds' (step_seconds) is empty"  # started by mpirun: no step of the ranks
    )
    assert any(message in line for line in imported.unread)


def test_tasks_of_the_step_are_the_default_for_processes(year):
    mapping = NAMES | {"pattern": {"JobName": r"(?P<case>wing)_(?P<interconnect>ib|eth)_\d+"}}
    imported = read_foreign(year, mapping=make_mapping(mapping))
    assert imported.runs["processes"].tolist() == [32, 64, 64, 128, 32, 64, 32]
    assert any("line 17 (job 4106): 'processes' (ntasks) is empty" in line for line in imported.unread)


def test_partitions_may_be_the_interconnect(year):
    mapping = {
        "pattern": {"JobName": r"(?P<case>wing)_ib_(?P<processes>\d+)"},
        "interconnect": {"from": "Partition", "names": {"cpu": "infiniband"}},
    }
    assert set(read_foreign(year, mapping=make_mapping(mapping)).runs["interconnect"]) == {"infiniband"}


def test_a_group_that_is_in_no_column_would_mix_different_jobs(year):
    name = r"(?P<case>wing)_(?P<fabric>ib)_(?P<size>6|3|12)(?P<digit>\d)"
    mapping = {
        "pattern": {"JobName": name},
        "processes": {"value": 64},
        "cores": {"value": 64},
        "nodes": {"value": 2},
    }
    message = refusal(TableError, read_foreign, year, mapping=make_mapping(mapping))
    assert "'digit' takes several values in runs of one point (2, 4, 8): make it part of the case" in message


@pytest.mark.parametrize(
    ("elapsed", "seconds"),
    [("00:13:32", 812), ("1-02:03:04", 93_784), ("02:03.500", 123.5), ("812", 812)],
)
def test_elapsed_times(dump, elapsed, seconds):
    file = dump("JobID|JobName|State|Elapsed|NNodes|AllocCPUS", f"7|wing_ib_4|COMPLETED|{elapsed}|1|4")
    assert read_foreign(file, mapping=make_mapping(NAMES)).runs["seconds"].tolist() == [seconds]


@pytest.mark.parametrize(
    ("energy", "joules"),
    [("1.53M", 1.53e6), ("292.32K", 292_320), ("810", 810), ("18446744073709551614", None)],
)
def test_energies_with_a_prefix(dump, energy, joules):
    head = "JobID|JobName|State|Elapsed|AllocCPUS|ConsumedEnergy"
    file = dump(head, f"7|wing_ib_4|COMPLETED|00:10|4|{energy}", "8|wing_ib_2|COMPLETED|00:10|2|5")
    energies = read_foreign(file, mapping=make_mapping(NAMES)).runs["energy_joules"]
    assert energies[0] == pytest.approx(joules) if joules else pd.isna(energies[0])


def test_variants_of_sacct_output(dump):
    parts = (f"9+{part}|wing_ib_4|COMPLETED|00:10|4|" for part in (0, 1))
    head = "JobID|JobName|State|Elapsed|AllocCPUS|"
    parsable = dump(head, "7|wing_ib_4|CANCELLED+|00:10|4|", "8|a|b|c", *parts)
    imported = read_foreign(parsable, mapping=make_mapping(NAMES))
    assert (
        imported.runs["reason"].tolist() == ["Slurm: CANCELLED"] and "censored" not in imported.runs.columns
    )
    assert "line 3: 4 cells where the heading has 5" in imported.unread[0]
    assert imported.unread[1].endswith("jobs that are parts of a heterogeneous job: 2")


@pytest.mark.parametrize(
    ("lines", "mapping", "message"),
    [
        (["JobID|JobName|State|NNodes", "7|wing_ib_4|COMPLETED|1"], NAMES, "'ElapsedRaw': is missing"),
        (["JobID|JobName|State|Elapsed", "7|other|COMPLETED|00:10"], NAMES, "runs whose JobName does not match"),
        (["JobID|JobName|State|Elapsed", "7|wing_ib_4|COMPLETED|00:10"], {}, "no variable holds it"),
        (["JobID|JobName|State|Elapsed", "7|wing_ib_4|COMPLETED|00:10"], {"pattern": {"Name": "(?P<case>.+)"}},
         "'Name' is no variable of"),
        ([], {"pattern": {"JobName": "(?P<case"}}, "is no regular expression: "),
        ([], {"pattern": {"JobName": "wing.*"}}, "needs a named group, as (?P<case>.+)"),
        ([], {"pattern": "wing.*"}, "key 'pattern': must be a regular expression for each of some variables"),
    ],
)  # fmt: skip
def test_one_line_for_mistakes(dump, lines, mapping, message):
    assert message in refusal(TableError, lambda: read_foreign(dump(*lines), mapping=make_mapping(mapping)))


def test_the_command_writes_a_table_that_is_read_back(year, tmp_path):
    (tmp_path / "names.yaml").write_text(
        "pattern: {JobName: '(?P<case>wing)_(?P<interconnect>ib|eth)_(?P<processes>\\d+)'}\n"
    )
    words = [
        str(year),
        str(tmp_path / "runs.csv"),
        "--mapping",
        str(tmp_path / "names.yaml"),
        "--set",
        "kind=measured",
    ]
    assert convert(arguments(words))[-1].endswith("runs.csv: 8 runs")
    runs = read_runs(tmp_path / "runs.csv")
    assert runs["censored"].sum() == 1 and runs["energy_joules"].dtype == float


@pytest.mark.parametrize(
    ("column", "mapping", "has_remark"),
    [("NNodes", {}, True), ("AllocCPUS", {}, False), ("NNodes", {"cores": {"value": 32}}, False)],
)
def test_an_export_without_cores_says_what_is_assumed(dump, column, mapping, has_remark):
    path = dump(f"JobID|JobName|State|ElapsedRaw|{column}", "1|wing_ib_32|COMPLETED|60|64")
    imported = read_foreign(path, mapping=make_mapping(NAMES | mapping))
    remark = f"{path}: has no AllocCPUS or NCPUS: each process is taken to have one core"
    assert imported.remarks == ([remark] if has_remark else [])
