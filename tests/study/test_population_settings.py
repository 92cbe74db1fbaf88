"""Settings of imported runs: where they differ, each value is an interconnect of its own."""

from functools import partial

import pandas as pd
import pytest
from refused import refusal
from study_files import study_file

from workflows.domain import InputError
from workflows.study.imports import check_imports, imports_of
from workflows.study.populations import Population, split_by_settings
from workflows.study.study import read_study

HEADER = "case,interconnect,processes,seconds,UCX_TLS"
MIXED = 'duct,azure,2,95,"ud,shm,rc"\nduct,azure,4,60,"ud,shm,rc"\nduct,azure,4,35,all\nduct,eks,4,50,all\n'
refusal_of = partial(refusal, InputError)


def study(folder, text, **files):
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)
    return read_study(study_file(folder, f"name: theirs\n{text}"))


def interconnects(imported):
    return imported.runs["interconnect"].tolist()


ALL, RC = "azure-UCX_TLS-all", "azure-UCX_TLS-ud-shm-rc"


def test_each_value_is_an_interconnect(tmp_path):
    imported = imports_of(study(tmp_path, "import: [a.csv]\nsettings: [UCX_TLS]\n", a=f"{HEADER}\n{MIXED}"))
    assert interconnects(imported) == [RC, RC, ALL, "eks"]
    assert imported.populations == {
        RC: Population("azure", "UCX_TLS=ud,shm,rc"),
        ALL: Population("azure", "UCX_TLS=all"),
    }


def test_without_the_key_runs_stay_together(tmp_path):
    imported = imports_of(study(tmp_path, "import: [a.csv]\n", a=f"{HEADER}\n{MIXED}"))
    assert interconnects(imported) == ["azure", "azure", "azure", "eks"] and imported.populations == {}


def test_cases_kinds_and_sites_are_judged_apart(tmp_path):
    rows = "duct,azure,2,9,rc,x,measured\nwing,azure,2,9,all,x,measured\nduct,azure,2,9,all,y,measured\n"
    rows += "duct,azure,2,9,all,x,published\n"
    keys = "import: [a.csv]\nsettings: [UCX_TLS]\n"
    imported = imports_of(study(tmp_path, keys, a=f"{HEADER},site,kind\n{rows}"))
    assert set(interconnects(imported)) == {"azure"}


def test_files_that_differ_are_apart(tmp_path):
    keys = "import: [a.csv, b.csv]\nsettings: [UCX_TLS]\n"
    tables = {"a": f"{HEADER}\nduct,azure,2,95,rc\n", "b": f"{HEADER}\nduct,azure,2,35,all\n"}
    assert interconnects(imports_of(study(tmp_path, keys, **tables))) == ["azure-UCX_TLS-rc", ALL]


def test_an_empty_cell_is_a_value_and_serial_runs_stay(tmp_path):
    rows = "duct,,1,300,rc\nduct,,1,301,all\nduct,azure,2,95,\nduct,azure,2,35,all\n"
    keys = "import: [a.csv]\nsettings: [UCX_TLS]\n"
    imported = imports_of(study(tmp_path, keys, a=f"{HEADER}\n{rows}"))
    assert imported.runs["interconnect"].isna().tolist() == [True, True, False, False]
    assert imported.populations["azure-UCX_TLS-not-stated"].settings == "UCX_TLS not stated"


def test_only_settings_that_differ_are_named():
    runs = pd.DataFrame(
        {"case": "duct", "kind": "measured", "interconnect": "ib", "tls": [1, 1, 2], "mtu": 4096}
    )
    split, populations = split_by_settings(runs, ["tls", "mtu"], "study.yaml: settings")
    assert split["interconnect"].tolist() == ["ib-tls-1", "ib-tls-1", "ib-tls-2"]
    both, _ = split_by_settings(runs.assign(mtu=[1, 2, 2]), ["tls", "mtu"], "study.yaml: settings")
    assert both["interconnect"].tolist() == ["ib-tls-1-mtu-1", "ib-tls-1-mtu-2", "ib-tls-2-mtu-2"]
    assert populations["ib-tls-1"] == Population("ib", "tls=1")


def test_equal_blocks_and_repetitions_of_two_settings_are_no_duplicates(tmp_path):
    rows = "duct,azure,2,95,rc,1,1\nduct,azure,2,35,all,1,1\n"
    table = f"{HEADER},block,repetition\n{rows}"
    imported = imports_of(study(tmp_path, "import: [a.csv]\nsettings: [UCX_TLS]\n", a=table))
    assert imported.runs[["block", "repetition"]].values.tolist() == [[1, 1], [1, 1]]
    assert "the same repetition" in refusal_of(imports_of, study(tmp_path, "import: [a.csv]\n", a=table))


def test_the_order_of_runs_is_known_within_a_setting(tmp_path):
    rows = "duct,azure,2,95,rc,1\nduct,azure,2,35,all,1\nduct,azure,2,96,rc,2\nduct,azure,2,36,all,2\n"
    table = f"{HEADER},repetition\n{rows}"
    for keys, order in (("settings: [UCX_TLS]\n", "repetition"), ("", "unknown")):
        runs = imports_of(study(tmp_path, f"import: [a.csv]\n{keys}", a=table)).runs
        assert set(runs["order_from"]) == {f"{order} of file 1"}


def test_variables_of_other_tools_are_settings_too(tmp_path):
    table = "case,fabric,tasks,time[s],tls\nduct,azure,2,95,rc\nduct,azure,2,35,all\n"
    (tmp_path / "a.csv").write_text(table)
    imported = imports_of(study(tmp_path, "import: [a.csv]\nsettings: [tls]\n"))
    assert interconnects(imported) == ["azure-tls-rc", "azure-tls-all"]


def test_settings_of_logs_split_their_runs(tmp_path):
    for name, seconds in (("rc-1", 95), ("all-1", 35), ("rc-2", 96), ("all-2", 36)):
        (tmp_path / f"{name}.out").write_text(f"Ranks: 8\ntook {seconds} s\n")
    entry = "{logs: '*.out', interconnect: azure, from_path: '{tls}-{iteration}.out', read: {seconds: 'took (\\S+) s', "
    entry += "processes: 'Ranks: (\\d+)'}}"
    imported = imports_of(study(tmp_path, f"import:\n  - {entry}\nsettings: [tls]\n"))
    by_name = imported.runs.groupby("interconnect")["seconds"].agg(list).to_dict()
    assert by_name == {"azure-tls-all": [35, 36], "azure-tls-rc": [95, 96]}
    assert set(imported.runs["order_from"]) == {"repetition of file 1"}


def test_numbers_with_a_missing_value_keep_their_form():
    runs = pd.DataFrame(
        {"case": "duct", "kind": "measured", "interconnect": "ib", "mtu": [1500, 9000.5, None]}
    )
    split, _ = split_by_settings(runs, ["mtu"], "study.yaml: settings")
    assert split["interconnect"].tolist() == ["ib-mtu-1500", "ib-mtu-9000.5", "ib-mtu-not-stated"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "import: [a.csv]\nsettings: [UCX_TSL]\n",
            ": settings[0]: no further column of the imported runs 'UCX_TSL', did you mean 'UCX_TLS'?; known: UCX_TLS",
        ),
        (
            "import: [a.csv]\nsettings: [threads]\n",
            ": settings[0]: no further column of the imported runs 'threads'; known: UCX_TLS",
        ),
    ],
)
def test_an_unknown_column(tmp_path, text, line):
    theirs = study(tmp_path, text, a=f"{HEADER}\n{MIXED}")
    assert refusal_of(check_imports, theirs) == f"{theirs.file}{line}"


def test_without_imports_there_are_no_settings(tmp_path):
    own = "cases: [cavity-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\nsettings: [UCX_TLS]\n"
    line = refusal_of(study, tmp_path, own)
    assert line.endswith(": settings: does not belong here, since nothing is imported")


def test_values_that_get_the_same_name(tmp_path):
    rows = 'duct,azure,2,95,"ud,rc"\nduct,azure,2,35,ud-rc\n'
    theirs = study(tmp_path, "import: [a.csv]\nsettings: [UCX_TLS]\n", a=f"{HEADER}\n{rows}")
    assert refusal_of(imports_of, theirs) == (
        f"{theirs.file}: settings: 'UCX_TLS=ud-rc' and 'UCX_TLS=ud,rc' get the same name, azure-UCX_TLS-ud-rc"
    )


def test_a_baseline_may_be_a_value(tmp_path):
    keys = f"import: [a.csv]\nsettings: [UCX_TLS]\nbaselines: [{ALL}]\n"
    check_imports(study(tmp_path, keys, a=f"{HEADER}\n{MIXED}"))
