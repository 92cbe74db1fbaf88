"""Key ``logs`` of ``import``: each mistake is one line with file, key and value."""

from functools import partial

import pytest
from refused import refusal
from study_files import study_file

from workflows.domain import InputError
from workflows.study.study import check_baselines, read_study

refusal_of = partial(refusal, InputError)
LAMMPS = "logs: 'runs/*.out', application: lammps, interconnect: efa"


def study(folder, entry):
    (folder / "runs").mkdir(exist_ok=True)
    (folder / "runs/a.out").write_text("hello\n")
    return study_file(folder, f"name: theirs\nimport: [{{{entry}}}]\n")


WRONG = [
    ("logs: 'runs/*.log', application: lammps", "logs: 'runs/*.log' matches no file in "),
    ("logs: 'runs/**.out', application: lammps", "logs: 'runs/**.out': "),
    ("logs: 'runs/*.out'", "needs application (gromacs, lammps, nwchem, openfoam), or read.seconds"),
    (
        "logs: 'runs/*.out', application: lamps",
        "read.seconds: missing, since application is not gromacs, lammps, nwchem, openfoam, "
        "did you mean 'lammps'?: 'lamps'",
    ),
    (
        "logs: 'runs/*.out', read: {seconds: 'took \\S+'}",
        "read.seconds: 'took \\\\S+' has no group; put the value",
    ),
    (
        "logs: 'runs/*.out', read: {seconds: 'took (\\S+'}",
        "read.seconds: 'took (\\S+' is no regular expression",
    ),
    (
        "logs: 'runs/*.out', read: {seconds: {pattern: '(1)', unit: days}}",
        "read.seconds: 'days' is no unit of time; allowed: s, ",
    ),
    (f"{LAMMPS}, read: {{work: '(1)'}}", "read.work: needs a unit"),
    (f"{LAMMPS}, read: {{started: ['(1)', '(2)']}}", "read.started: takes one expression"),
    (f"{LAMMPS}, read: {{valid: '(1)'}}", "read: Nodeworth fills the column 'valid'"),
    (f"{LAMMPS}, from_path: 'runs/a.out'", "from_path: 'runs/a.out' has no field, such as {case}"),
    (f"{LAMMPS}, from_path: '{{case'", "from_path: '{case': '{' has no partner"),
    (f"{LAMMPS}, from_path: '{{Case}}'", "from_path: 'Case' is no name of a field"),
    (f"{LAMMPS}, from_path: '{{case}}/{{case}}'", "from_path: {case} is there twice"),
    (f"{LAMMPS}, from_path: '{{seconds}}'", "from_path: Nodeworth fills the column 'seconds'"),
    (f"{LAMMPS}, from_path: '{{interconnect}}/*'", "interconnect: is in from_path, too"),
    (f"{LAMMPS}, from_path: '{{repetition}}-{{iteration}}'", "from_path: {iteration} is another name of"),
    (f"{LAMMPS}, mapping: {{case: x}}", "mapping: does not belong here, next to logs"),
    (f"{LAMMPS}, file: a.csv", "logs: does not belong here, next to file"),
    ("file: a.csv, application: lammps", "application: does not belong here, next to file"),
    ("logs: 'runs/*.out', format: osu, read: {seconds: '(1)'}", "read: does not belong here, next to format"),
    ("logs: 'runs/*.out', format: oso", "format: no format 'oso'"),
]


@pytest.mark.parametrize(("entry", "expected"), WRONG)
def test_a_wrong_entry(tmp_path, entry, expected):
    file = study(tmp_path, entry)
    line = refusal_of(read_study, file)
    place = f"{file}: import[0]"
    assert line.startswith(place) and line.removeprefix(place).lstrip(".: ").startswith(expected), line


def test_an_entry_needs_a_file_or_logs(tmp_path):
    line = refusal_of(read_study, study(tmp_path, "site: here"))
    assert line.endswith("import[0]: needs file or logs, and has {site}")


def test_a_log_in_two_entries(tmp_path):
    file = study(tmp_path, f"{LAMMPS}}}, {{{LAMMPS}, case: again")
    assert "import[1]: " in (line := refusal_of(read_study, file)) and line.endswith("each only once")


def test_folders_between_and_text_inside_a_name(tmp_path):
    template = "{interconnect}/size{nodes}/.../{case}-*-iter-{iteration}*.out"
    file = study(tmp_path, f"logs: 'runs/*.out', application: lammps, from_path: '{template}'")
    (logs,) = read_study(file).logs
    fields = {"interconnect": "eks", "nodes": "32", "case": "lammps-reax", "iteration": "4"}
    for folders in ("", "results/", "results/today/"):
        path = tmp_path / f"aws/eks/size32/{folders}lammps-reax-32-iter-4-93886.out"
        assert logs.template.fields(path) == fields
    assert logs.template.fields(tmp_path / "aws/eks/size/lammps-reax-32-iter-4.out") is None


def test_the_analysis_checks_baselines_that_only_logs_name(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/a.out").write_text("hello\n")
    text = f"name: theirs\nbaselines: [efa]\nimport: [{{{LAMMPS}}}]\n"
    check_baselines(read_study(study_file(tmp_path, text)), {})
