"""Side tables of the runs table: which runs have details, and how the tables are read."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from runs_with_details import details_of, named
from small_records import record

from analysis.runs.errors import TableError
from analysis.runs.side_tables import DETAILS, read_details, write_details
from analysis.topics.data_servers import make_data_servers
from analysis.topics.network.curves import network_table
from workflows.domain import InputError
from workflows.paths import StudyPaths
from workflows.results.details import make_details

STARTED = "2026-01-01T00:00:00"
RUN = {"site": None, "case": "pingpong", "interconnect": "slow", "kind": "measured", "oversubscription": 1, "nodes": 1,
       "processes": 2, "valid": True, "started": STARTED}  # fmt: skip
SIZES = {"bytes": 8, "n": 10, "moved_bytes": 8, "busy_share": 0.1 + 0.2, "seconds_p50": 1e-6 / 3}
LOADS = {"pattern": "None", "job": "compute", "sizes": "NA", "offered_load": 0.5, "process": [0, 1],
         "process_MBps": [1.0, 2.0], "messages": 3}  # fmt: skip


NOWHERE = SimpleNamespace(site=None, congestion={}), StudyPaths(Path("nowhere"))
"""A study without simulated points, and its paths."""


@pytest.fixture
def recorded(tmp_path):
    """Runs table of one imported run, whose record lies next to the imported file."""
    file = tmp_path / "one.json"
    file.write_text(json.dumps(record(started=STARTED, details={"rows": [SIZES]}).as_json()))
    return pd.DataFrame([RUN | {"record": str(file), "origin": "import"}])


def test_measured_and_imported_runs_have_benchmark_details(recorded):
    measured = pd.DataFrame([RUN | {"record": "records/one.json", "origin": "run"}])
    runs = pd.concat([measured, recorded], ignore_index=True)
    rows = make_details(*NOWHERE, runs, [record(details={"rows": [SIZES, SIZES]})])["benchmarks"]
    assert rows["record"].tolist() == ["records/one.json"] * 2 + [recorded["record"].iat[0]]
    assert network_table(runs, rows)["runs"].tolist() == [3]


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("valid", False),
        ("record", None),
        ("record", "there/is/none.json"),
        ("started", "2025-12-31T00:00:00"),
    ],
)
def test_invalid_runs_and_foreign_records_give_no_details(recorded, column, other):
    assert make_details(*NOWHERE, recorded.assign(**{column: other}), [])["benchmarks"].empty


def test_a_run_of_another_study_with_a_record_of_the_same_path_is_another(recorded):
    rows = make_details(*NOWHERE, recorded, [])["benchmarks"]
    assert len(network_table(recorded, rows)) == 1
    assert network_table(recorded.assign(started="2025-12-31T00:00:00"), rows).empty


def test_a_damaged_record_is_reported_in_one_line(recorded):
    (file,) = recorded["record"]
    Path(file).write_text("{")
    with pytest.raises(InputError, match=r"one.json: damaged record .*"):
        make_details(*NOWHERE, recorded, [])


def test_tables_are_read_as_they_were_written(tmp_path):
    runs = named(pd.DataFrame([RUN, RUN]))
    made = details_of(runs, [{"rows": [SIZES, LOADS]}, {"rows": [LOADS]}])
    write_details(made, tmp_path)
    assert sorted(file.stem for file in tmp_path.iterdir()) == ["benchmarks", "traffic", "traffic_processes"]
    details = read_details(tmp_path)
    assert list(details) == list(DETAILS)
    for name, table in details.items():
        if name in made:
            pd.testing.assert_frame_equal(table, made[name], check_dtype=len(table) > 0)
        assert list(table) == list(DETAILS[name].columns)


def test_a_damaged_table_is_reported_in_one_line(tmp_path):
    columns = ",".join(DETAILS["bandwidth"].columns)
    (tmp_path / "bandwidth.csv").write_text(f"{columns}\n1,-1,1,1\n")
    with pytest.raises(TableError, match=r"bandwidth.csv: column 'bandwidth_MBps': '-1.0' must be above 0$"):
        read_details(tmp_path)


def test_a_table_of_an_earlier_version_names_the_remedy(tmp_path):
    (tmp_path / "traces.csv").write_text("case,processes\nduct,2\n")
    with pytest.raises(
        TableError, match=r"traces\.csv: column '\w+': is missing; .* --forcerun collect makes it again$"
    ):
        read_details(tmp_path)


def test_a_study_without_side_tables_has_none(tmp_path):
    details = read_details(tmp_path / "missing")
    assert list(details) == list(DETAILS) and all(table.empty for table in details.values())


def test_operations_on_an_array_are_gathered_with_how_busy_cores_are():
    """Two runs of a point, and one whose processes hold the array themselves."""
    get = {"operation": "get", "block_bytes": 8, "calls": 10, "operation_seconds_p50": 2e-4}
    kept = [
        {
            "rows": [get, get | {"operation": "accumulate"}],
            "servers": 2,
            "busy_share": {"processes": 0.5, "servers": 1.0},
        },
        {
            "rows": [get | {"operation_seconds_p50": 4e-4}],
            "servers": 2,
            "busy_share": {"processes": 0.7, "servers": 1.0},
        },
        {"rows": [get], "servers": 0, "busy_share": {"processes": 0.9, "servers": None}},
    ]
    cases = ["array-polling", "array-polling", "array"]
    runs = pd.DataFrame(
        [
            RUN | {"case": case, "seconds": 1.0, "record": f"{place}.json", "origin": "run"}
            for place, case in enumerate(cases)
        ]
    )
    rows = make_details(*NOWHERE, runs, [record(details=details) for details in kept])["data_servers"]
    table = make_data_servers(runs, rows)["data_servers"].set_index(["case", "operation"])
    polling = table.loc[("array-polling", "get")]
    assert polling[["runs", "servers", "calls", "busy_servers"]].tolist() == [2, 2, 10, 1]
    assert polling[["latency_us", "busy_processes"]].tolist() == pytest.approx([300, 0.6])
    assert table.loc[("array", "get"), "servers"] == 0 and pd.isna(
        table.loc[("array", "get"), "busy_servers"]
    )
    assert ("array-polling", "accumulate") in table.index
    assert make_data_servers(runs, rows.iloc[:0]) == {}
