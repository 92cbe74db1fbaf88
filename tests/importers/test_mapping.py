"""Mapping files: unknown keys and wrong values are refused in one line."""

import re

import pytest
from refused import refusal

from analysis.importers import make_mapping, read_foreign, read_mapping
from analysis.importers.mapping import Field
from analysis.runs.runs import TableError

COMPLETE_MAPPING = """\
case: {from: [test, size], names: {duct-1: duct}}
interconnect: fabric
processes: num_tasks
nodes: {value: 4}
seconds: {from: elapsed, unit: ms}
may_differ: [seed]
"""


def test_a_mapping_file(written):
    mapping = read_mapping(written(COMPLETE_MAPPING, "mapping.yaml"))
    assert mapping.fields == {
        "case": Field(("test", "size"), names={"duct-1": "duct"}),
        "interconnect": Field(("fabric",)),
        "processes": Field(("num_tasks",)),
        "nodes": Field(value=4),
        "seconds": Field(("elapsed",), unit="ms"),
    }
    assert mapping.may_differ == ("seed",) and mapping.constants == {"nodes": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be keys and values, as processes: num_tasks"),
        ("- a", "must be keys and values"),
        ("proceses: a", r"key 'proceses': is unknown \(allowed: case, interconnect, kind, processes, nodes,"),
        ("case: 3", "key 'case': must be a variable's name, or hold from or value"),
        ("seconds: {value: 3}", r"key 'seconds\.value': is unknown here \(allowed: from, unit\)"),
        ("seconds: 3", "key 'seconds': must be a variable's name, or hold from$"),
        ("case: {from: a, value: b}", "key 'case': must be a variable's name, or hold from or value"),
        ("case: {from: []}", r"key 'case\.from': must be one variable's name"),
        ("case: {from: [a, 3]}", r"key 'case\.from': must be a variable's name or a list of names"),
        ("processes: {from: [a, b]}", r"key 'processes\.from': must be one variable's name"),
        ("nodes: {from: a, names: {b: c}}", r"key 'nodes\.names': is unknown here \(allowed: from, value"),
        ("case: {from: a, names: [b]}", r"key 'case\.names': must give a name for each value of the file"),
        ("case: {value: a, names: {a: b}}", r"key 'case\.names': is unknown here \(allowed: value\)"),
        ("processes: {value: many}", r"key 'processes\.value': 'many' must be a whole number"),
        ("processes: {value: true}", r"key 'processes\.value': True must be a whole number"),
        ("case: {value: 3}", r"key 'case\.value': 3 must be text"),
        ("seconds: {from: t, unit: days}", r"key 'seconds\.unit': 'days' must be one of s, sec, seconds, ms"),
        ("seconds: {from: t, unit: [s]}", r"key 'seconds\.unit': \['s'\] must be one of s, sec, seconds, ms"),
        ("may_differ: 3", "key 'may_differ': must be a variable's name or a list of names"),
        ("case: a\ncase: b", r"line 2: key 'case' is there twice"),
        ("columns: [a, b\nunits: c", r"line 1: expected ',' or ']'"),
        ("case: [a", r"line 1: .*expected"),
        (b"case: \xff", r"cannot be read: .*utf-8"),
    ],
)
def test_a_wrong_mapping_is_reported_in_one_line(written, text, message):
    reason = refusal(TableError, read_mapping, written(text, "mapping.yaml"))
    assert re.search(message, reason) and "mapping.yaml" in reason


def test_a_mapping_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        read_mapping(tmp_path / "mapping.yaml")


def test_a_mapping_in_python():
    assert make_mapping({"kind": {"value": "measured"}}).constants == {"kind": "measured"}


def jube(tmp_path, *lines):
    file = tmp_path / "times.csv"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_threads_of_a_process_are_cores(tmp_path):
    file = jube(tmp_path, "case,interconnect,tasks,threadspertask,time[s]", "a,ib,4,2,10.0", "a,ib,8,2,6.0")
    runs = read_foreign(file).runs
    assert runs["cores"].tolist() == [8, 16] and set(runs["oversubscription"]) == {1}
    assert runs["threads"].tolist() == [2, 2]


def test_numbers_of_threads_are_points_apart(tmp_path):
    file = jube(tmp_path, "case,interconnect,tasks,threadspertask,time[s]", "a,ib,4,1,10.0", "a,ib,4,2,6.0")
    runs = read_foreign(file).runs
    assert runs[["threads", "cores"]].values.tolist() == [[1, 4], [2, 8]]


@pytest.mark.parametrize(
    ("head", "joules"), [("energy[kJ]", 2500), ("energy_joules", 2.5), ("used[Wh]", 9000)]
)
def test_energy_has_a_unit(tmp_path, head, joules):
    file = jube(tmp_path, f"case,interconnect,tasks,time[s],{head}", "a,ib,4,10.0,2.5")
    assert read_foreign(file).runs["energy_joules"].tolist() == [joules]


def test_of_several_energies_a_mapping_names_one(tmp_path):
    file = jube(tmp_path, "case,interconnect,tasks,time[s],cpu[J],dram[J]", "a,ib,4,10.0,25,3")
    assert "energy_joules" not in read_foreign(file).runs
    named = make_mapping({"energy_joules": {"from": "cpu"}})
    assert read_foreign(file, mapping=named).runs["energy_joules"].tolist() == [25]
    reason = refusal(TableError, make_mapping, {"energy_joules": {"from": "cpu", "unit": "s"}})
    assert "'s' must be one of J, kJ, MJ, GJ, Wh, kWh" in reason


PER_NODE = {"processes_per_node": "cores_per_node", "seconds": {"from": "time", "unit": "s"}}


def test_processes_follow_from_nodes_and_processes_per_node(tmp_path):
    file = jube(tmp_path, "case,interconnect,nodes,cores_per_node,time", "lu,opa,2,48,9.5", "lu,ib,3,128,4")
    runs = read_foreign(file, mapping=make_mapping(PER_NODE)).runs
    assert runs["processes"].tolist() == runs["cores"].tolist() == [96, 384]
    assert runs["nodes"].tolist() == [2, 3]


def test_nodes_follow_from_processes_and_processes_per_node(tmp_path):
    file = jube(tmp_path, "case,interconnect,processes,time", "lu,ib,32,9.5", "lu,ib,64,5", "lu,ib,100,4")
    mapping = make_mapping(PER_NODE | {"processes_per_node": {"value": 64}})
    assert read_foreign(file, mapping=mapping).runs["nodes"].tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("2,48,100", "100 processes on 2 nodes contradict processes_per_node, 48"),
        ("2,48.5,96", "processes_per_node '48.5', nodes '2', processes '96': must be whole numbers"),
        ("2,0,96", "'processes_per_node' is '0': must be 1 or more"),
        (",48,", "'nodes' or 'processes_per_node' is empty"),
    ],
)
def test_wrong_processes_per_node_are_reported(tmp_path, counts, message):
    heading = "case,interconnect,nodes,cores_per_node,processes,time"
    if counts.endswith(","):
        heading, counts = heading.replace("processes,", ""), counts[:-1]
    file = jube(
        tmp_path, heading, f"lu,opa,{counts},9.5", f"lu,opa,{'2,48' if counts == ',48' else '2,48,96'},9.5"
    )
    imported = read_foreign(file, mapping=make_mapping(PER_NODE))
    assert imported.unread == [f"{file}: line 2: {message}"] and len(imported.runs) == 1


def test_missing_processes_name_both_ways_to_state_them(tmp_path):
    file = jube(tmp_path, "case,interconnect,nodes,time[s]", "lu,opa,2,9.5")
    assert "rename one, or name one in a mapping, or map nodes and processes_per_node" in refusal(
        TableError, read_foreign, file
    )


def test_a_start_gives_the_order_of_the_runs(tmp_path):
    file = jube(
        tmp_path,
        "case;interconnect;tasks;time;date",
        "lu;ib;4;9,5;2026-10-11 08:09",
        "lu;ib;4;9,7;2026-10-11 08:00",
    )
    runs = read_foreign(
        file, mapping=make_mapping({"started": "date", "seconds": {"from": "time", "unit": "s"}})
    ).runs
    assert runs["started"].tolist() == ["2026-10-11 08:09", "2026-10-11 08:00"]
    assert runs["block"].tolist() == [2, 1] and set(runs["order_from"]) == {"started"}


@pytest.mark.parametrize("start", ["11.10.2026 08:00", "Sunday", "2026-13-11 08:00"])
def test_a_start_that_cannot_be_read_is_refused(tmp_path, start):
    file = jube(tmp_path, "case,interconnect,processes,seconds,started", f"lu,ib,4,9.5,{start}")
    reason = refusal(TableError, read_foreign, file)
    assert f"line 2, column 'started': {start!r}: write date and time as 2026-10-11 08:00" in reason


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("2026-10-11 08:00", "2026-10-11 09:00"), "(2026-10-11 08:00, 2026-10-11 09:00): map it to started"),
        (("2", "3"), "(2, 3): make it part of the case in a mapping, or list it under the study's settings"),
        (tuple("abcdef"), "(a, b, c, d, …): make it part of the case"),
    ],
)
def test_a_variable_without_a_column_has_the_remedies_that_fit(tmp_path, values, message):
    file = jube(tmp_path, "case,interconnect,tasks,time[s],x", *(f"lu,ib,4,9.5,{value}" for value in values))
    assert f"'x' takes several values in runs of one point {message}" in refusal(
        TableError, read_foreign, file
    )
