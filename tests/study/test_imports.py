"""Mistakes in imported files are reported in one line before anything runs."""

from dataclasses import replace
from functools import partial

import pytest
from refused import refusal
from study_files import study_file

from workflows.domain import InputError
from workflows.plan.announce import announcement
from workflows.plan.plan import make_plan
from workflows.study.imports import check_imports, check_references, read_imports
from workflows.study.study import read_study

HEADER = "case,interconnect,processes,seconds"
OWN = "cases: [cavity-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\n"


def study(folder, text, **files):
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)
    return study_file(folder, f"name: theirs\n{text}")


refusal_of = partial(refusal, InputError)


@pytest.mark.parametrize("name", ["missing.csv", 300 * "é"])
def test_a_file_that_is_not_there(tmp_path, name):
    file = study(tmp_path, f"import: [{name}]\n")
    assert refusal_of(make_plan, file) == f"{file}: import[0]: {tmp_path}/{name}: no such file"


def test_a_folder_without_logs(tmp_path):
    file = study(tmp_path, "import: [.]\n")
    assert "import[0]: " in refusal_of(make_plan, file) and "is a folder" in refusal_of(make_plan, file)
    (tmp_path / "perf.log").write_text("")
    assert make_plan(file).asked.study.imports


def test_imports_alone_are_announced_as_such(tmp_path):
    file = study(tmp_path, "import: [a.csv]\n", a=f"{HEADER}\nduct,ib,2,1\n")
    plan = make_plan(file)
    assert announcement(plan) == "theirs: nothing is run; imported files: 1"


def test_without_a_point_a_target_costs_nothing(tmp_path):
    file = study(
        tmp_path,
        "cases: [cavity]\ninterconnects: [shared_memory]\nprocesses: [1]\nimport: [a.csv]\n"
        "until: {interval_percent: 5, max_blocks: 9}\n",
        a=f"{HEADER}\nduct,ib,2,1\n",
    )
    assert replace(make_plan(file).design, points=()).highest_cost.core_hours == 0


def test_a_bad_table(tmp_path):
    file = study(tmp_path, "import: [a.csv]\n", a=f"{HEADER}\nduct,ib,2,-1\n")
    line = refusal_of(check_imports, read_study(file))
    assert line == f"{tmp_path}/a.csv: line 2, column 'seconds': -1: it must be a positive time"


def test_two_references_in_one_file(tmp_path):
    rows = "duct,,1,8,1\nduct,ib,2,5,1\nduct,,1,9,2\n"
    file = study(tmp_path, "import: [a.csv]\n", a=f"{HEADER},nodes\n{rows}")
    assert refusal_of(check_imports, read_study(file)) == (
        f"{tmp_path}/a.csv, line 4: a second reference of case 'duct', kind published: a serial run with "
        f"nodes 2, oversubscription 1; the reference in {tmp_path}/a.csv, line 2 is a run with nodes 1, oversubscription 1"
    )


def test_two_references_in_two_files(tmp_path):
    first, second = f"{HEADER},nodes\nduct,,1,8,1\n", f"{HEADER}\nduct,ib,2,5\nduct,,1,9\n"
    file = study(tmp_path, "import: [a.csv, b.csv]\n", a=first, b=second)
    line = refusal_of(check_imports, read_study(file))
    assert line.startswith(f"{tmp_path}/b.csv, line 3: a second reference of case 'duct'")
    assert "nodes unknown" in line and f"{tmp_path}/a.csv, line 2" in line


def test_repetitions_and_other_sites_are_no_second_reference(tmp_path):
    repeated = f"{HEADER},nodes\nduct,,1,8,1\nduct,,1,9,1\nduct,ib,2,5,1\n"
    other = f"{HEADER},nodes\nduct,,1,8,2\n"
    file = study(tmp_path, "import: [a.csv, {file: b.csv, site: jena}]\n", a=repeated, b=other)
    check_imports(read_study(file))


def test_a_run_of_ours_and_a_file_with_two_references(tmp_path):
    study(tmp_path, "import: [a.csv]\n", a=f"{HEADER},nodes\nduct,,1,8,1\nduct,,1,8,2\n")
    runs = read_imports([tmp_path / "a.csv"], {}).runs
    record = tmp_path / "block-1.json"
    line = refusal_of(check_references, runs, [(record, None), (tmp_path / "a.csv", 1)])
    assert line.startswith(f"{tmp_path}/a.csv, line 3: ") and f"the reference in {record} is" in line


APART = "runs of 'x' are measured, those of 'z' published"


@pytest.mark.parametrize(
    ("sites", "kind", "line"),
    [
        ("[x, y]", "measured", "'y' is no site of the runs; there are x, z"),
        ("[x, z]", "published", f"'x' and 'z' have no point in common: {APART}"),
    ],
)
def test_sites_that_cannot_be_compared_name_the_study_file(tmp_path, sites, kind, line):
    text = f"import: [{{file: a.csv, site: x}}, {{file: b.csv, site: z}}]\ncompare_sites: {sites}\n"
    tables = {name: f"{HEADER},kind\nduct,ib,2,5,{of}\n" for name, of in (("a", "measured"), ("b", kind))}
    file = study(tmp_path, text, **tables)
    assert refusal_of(check_imports, read_study(file)) == f"{file}: compare_sites: {line}"


def test_a_missing_site_is_refused_before_anything_runs(tmp_path):
    text = f"import: [{{file: a.csv, site: x}}]\nsite: here\ncompare_sites: [x, her]\n{OWN}"
    file = study(tmp_path, text, a=f"{HEADER}\nduct,ib,2,5\n")
    line = refusal_of(check_imports, read_study(file))
    assert line == f"{file}: compare_sites: 'her' is no site of the runs; there are here, x"


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        (
            "baselines",
            "[infinband]",
            ": no interconnect of the study 'infinband', did you mean 'infiniband'?",
        ),
        ("compare_kinds", "[[measured, simulated]]", "[0]: no interconnect of the study is simulated"),
    ],
)
def test_missing_imports_are_refused_before_anything_runs(tmp_path, key, value, line):
    text = f"import: [a.csv]\n{OWN}{key}: {value}\n"
    file = study(tmp_path, text, a=f"{HEADER}\nduct,infiniband,2,5\n")
    assert refusal_of(check_imports, read_study(file), {"measured"}).startswith(f"{file}: {key}{line}")


def test_published_and_measured_may_be_compared(tmp_path):
    keys = "baselines: [infiniband]\ncompare_kinds: [[measured, published]]\n"
    file = study(tmp_path, f"import: [a.csv]\n{OWN}{keys}", a=f"{HEADER}\ncavity,infiniband,2,5\n")
    check_imports(read_study(file), {"measured"})


@pytest.mark.parametrize(
    ("rows", "remark"),
    [
        ("duct,ib,2,5\nduct,ib,2,6\n", None),
        (
            "duct,ib,2,5\nduct,ib,2,6\nduct,ib,2,5\n",
            "lines 2 and 4 are equal: both count; remove one if it was copied",
        ),
        (
            "duct,ib,2,5\nduct,ib,2,5\n\nduct,ib,2,5\nduct,ib,4,3\nduct,ib,4,3\n",
            "lines 2 and 3 are equal, and 2 further lines repeat earlier lines: all count; remove lines that were copied",
        ),
    ],
)
def test_equal_rows_count_and_are_named(tmp_path, rows, remark):
    study(tmp_path, "import: [a.csv]\n", a=f"{HEADER}\n{rows}")
    imported = read_imports([tmp_path / "a.csv"], {})
    assert [(part.what, part.reason) for part in imported.unread] == (
        [(f"in {tmp_path}/a.csv", remark)] if remark else []
    )
    assert len(imported.runs) == rows.count("duct")


@pytest.mark.parametrize(("column", "cells"), [("", ("", "")), (",nodes", (",1", ","))])
def test_a_comparison_by_nodes_needs_the_nodes_of_each_run(tmp_path, column, cells):
    rows = f"duct,ib,2,5{cells[0]}\nduct,ib,4,3{cells[1]}\n"
    file = study(tmp_path, "import: [a.csv]\ncompare_by: nodes\n", a=f"{HEADER}{column}\n{rows}")
    line = 3 if column else 2
    assert refusal_of(check_imports, read_study(file)) == (
        f"{tmp_path}/a.csv, line {line}: column 'nodes' is empty, and {file} states compare_by: nodes; "
        "give the nodes, or leave out compare_by"
    )


def test_a_serial_run_needs_no_nodes_for_a_comparison_by_nodes(tmp_path):
    rows = "duct,,1,8,\nduct,ib,2,5,1\nduct,ib,4,3,2\n"
    check_imports(
        read_study(study(tmp_path, "import: [a.csv]\ncompare_by: nodes\n", a=f"{HEADER},nodes\n{rows}"))
    )
