"""Mistakes on the command line of ``./run-study``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import ran
from refused import refusal
from snakemake.cli import parse_config

from workflows import command
from workflows.command import HELP, main
from workflows.domain import InputError
from workflows.errors import GOES_ON, INTERRUPTED, one_line_errors
from workflows.paths import ROOT
from workflows.study.study import read_study


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["."], ".: is no study file; study files end in .yaml. To time it as an input: --case ."),
        (["runs.csv"], "runs.csv: is no study file; study files end in .yaml"),
        (["--again", "failed", "runs.csv"], "runs.csv: is no study file; study files end in .yaml"),
        (["none.yaml"], "none.yaml: no such study file, did you mean 'mine.yaml'?; studies: chemistry, "),
        (["none", "--dry-run"], "none: no such study file; studies: chemistry, "),
        (["smok"], "smok: no such study file, did you mean 'smoke'?; studies: chemistry, "),
        (
            ["mine.yaml", "other.yaml"],
            "run-study: other.yaml: only one study at a time; start each with its own command",
        ),
        (
            ["--command", "date", "other.yaml"],
            "run-study: other.yaml: only one study at a time; start each with its own command",
        ),
        (
            ["--case", "topol.tpr", "--interconnects", "tcp_loopback"],
            "--interconnects: lists interconnects, and does not choose those of --case; to choose, write a study "
            "with the key interconnects (docs/own-case.md)",
        ),
        (["--anonymise"], "--anonymise: belongs to --archive"),
        (["mine.yaml", "--anonymise"], "--anonymise: belongs to --archive"),
        (["--again"], "run-study: Option '--again' requires an argument."),
        (["--compare", "results/before"], "run-study: Option '--compare' requires 2 arguments."),
        (["--frobnicate"], "run-study: unrecognized arguments: --frobnicate"),
        (["--case", "--dry-run"], "--case: its value is missing before --dry-run"),
        (["--command", "--dry-run"], "--command: its value is missing before --dry-run"),
        (["-case", "cavity"], "run-study: -case: no such option, did you mean '--case'?"),
        (["mine"], "mine: no such study file, did you mean 'mine.yaml'?; studies: "),
        (["--cores", "x"], "run-study: Error parsing number of cores"),
        (["--again", "failed", "smoke", "--config", "blocks"], "run-study: Invalid config definition: "),
        (
            ["--again", "failed", "smoke", "--profile", "nope"],
            "--profile: no profile 'nope'; known: cluster, ",
        ),
        (
            ["smoke", "--profile", "clustr"],
            "--profile: no profile 'clustr', did you mean 'cluster'?; known: ",
        ),
    ],
)
def test_one_line_for_a_file_that_is_no_study(tmp_path, monkeypatch, typed, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("")
    (tmp_path / "mine.yaml").write_text("name: mine\nimport: [runs.csv]\n")
    assert refusal(InputError, main, typed).startswith(line)


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        (["--proceses", "1,2"], "--processes"),
        (["--proceses=1,2"], "--processes"),
        (["--dryrn"], "--dryrun"),
    ],
)
def test_a_misspelt_option_gets_a_suggestion(typed, suggested):
    assert f", did you mean {suggested!r}? (" in refusal(InputError, main, ["smoke", *typed])


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (
            ["--config", "limits.idle_seconds=0"],
            "run-study: Invalid config definition: Config entry must start with a valid identifier. "
            "For a key in a section, write for example --config 'limits={idle_seconds: 0}'.",
        ),
        (["--blocks", "6"], "run-study: --blocks: no such option; use --config blocks=6"),
        (["--blocks=6"], "run-study: --blocks: no such option; use --config blocks=6"),
        (["--blocks"], "run-study: --blocks: no such option; use --config blocks=VALUE"),
        (["--compare-by", "nodes"], "run-study: --compare-by: no such option; use --config compare_by=nodes"),
        (["--title", "A b", "-n"], "run-study: --title: no such option; use --config 'title=A b'"),
        (
            ["--processes", "1,2"],
            "--processes: belongs to --command or --case; use --config 'processes=[1,2]'",
        ),
        (["--steps", "ten"], "--steps: 'ten' is not a whole number from 3 on"),
        (["--steps", "-1"], "--steps: '-1' is not a whole number from 3 on"),
        (["--steps", "2"], "--steps: '2' is not a whole number from 3 on"),
        (["--steps", "3.5"], "--steps: '3.5' is not a whole number from 3 on"),
    ],
    ids=str,
)
def test_keys_and_numbers_in_the_place_of_options(typed, line):
    assert refusal(InputError, main, ["smoke", *typed]) == line


@pytest.mark.parametrize(
    ("typed", "value"), [("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False)]
)
def test_true_and_false_of_config_are_those_of_yaml(typed, value):
    overrides = parse_config([f"report_while_running={typed}"])
    assert read_study(ROOT / "config/studies/smoke.yaml", overrides).report_while_running is value


def test_a_case_whose_program_is_missing_is_one_line(tmp_path):
    case = tmp_path / "cases/mpi4py/matrix_product/case.yaml"
    case.parent.mkdir(parents=True)
    case.write_text((ROOT / "cases/mpi4py/matrix_product/case.yaml").read_text())
    study = "name: mine\ncases: [matrix_product-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\n"
    (tmp_path / "mine.yaml").write_text(f"{study}blocks: 1\ncases_folder: {tmp_path}/cases\n")
    options = ["--dry-run", "--snakefile", ROOT / "Snakefile", "--directory", tmp_path]
    done = ran(sys.executable, "-m", "snakemake", *options, "--configfile", tmp_path / "mine.yaml")
    (line,) = (
        line_of_output for line_of_output in done.stderr.splitlines() if "profile" not in line_of_output
    )
    assert line == f"nodeworth: {case}: settings.program: there is no 'matrix_product.py' beside it"


def test_a_folder_of_results_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in ("/proc/x", f"{tmp_path}/file/x"):
        line = refusal(InputError, main, ["smoke", "--results", folder])
        assert line.startswith(f"--results: {folder} cannot be created: ")


@pytest.fixture
def started(monkeypatch):
    """Options with which Snakemake is started, each time."""
    options = []
    monkeypatch.setattr(command, "args_to_api", lambda parsed, _: options.append(parsed))
    return options


@pytest.mark.parametrize("typed", ["smoke", "config/studies/smoke.yaml"])
def test_a_study_by_its_name_or_its_file(started, typed):
    with pytest.raises(SystemExit):
        main([typed, "--dry-run"])
    assert [str(file) for file in started[0].configfile] == ["config/studies/smoke.yaml"]
    assert started[0].dryrun


@pytest.mark.parametrize(
    "words",
    [
        ["--config", "blocks=7", "seed=1", "-n", "--config", "scale=1"],
        ["--config=blocks=7", "--config", "seed=1", "-C", "scale=1", "-n"],
        ["-n", "--config", "blocks=7", "--config", "seed=1", "scale=1", "--", "results/smoke/report.pdf"],
    ],
)
def test_several_options_config_are_joined(started, words):
    with pytest.raises(SystemExit):
        main(["smoke", *words])
    (parsed,) = started
    assert parse_config(parsed.config) == {"blocks": 7, "seed": 1, "scale": 1} and parsed.dryrun
    assert list(parsed.targets) == (["results/smoke/report.pdf"] if "--" in words else [])


def test_files_after_two_dashes_are_targets(started):
    with pytest.raises(SystemExit):
        main(["smoke", "--dry-run", "--", "results/smoke/runs.csv"])
    assert started[0].targets == ["results/smoke/runs.csv"] and started[0].dryrun


@pytest.mark.parametrize("place", ["first", "last"])
def test_again_is_a_key_of_config(started, place):
    """What else the user replaces stays, whether a profile or the command line does."""
    options = ["--profile", "cluster", "--config", "cluster=mine.yaml", "blocks=3"]
    for given in (options, options[:2], []):
        again = ["--again", "failed"]
        words = [*again, "smoke", *given] if place == "first" else ["smoke", *again, *given]
        with pytest.raises(SystemExit):
            main(words)
    config = [parse_config(parsed.config) for parsed in started]
    mine, site = {"cluster": "mine.yaml", "blocks": 3}, {"cluster": "cluster/site.yaml"}
    assert config == [keys | {"again": "failed"} for keys in (mine, site, {})]
    assert [parsed.profile for parsed in started] == [["cluster"], ["cluster"], None]


@pytest.mark.parametrize("typed", [["--help"], ["-h"], ["smoke", "--help"], ["--archive", "-h"]])
def test_help_describes_every_option(capsys, typed):
    main(typed)
    help_text = capsys.readouterr().out
    for word in "[STUDY] --command --again --compare --model --archive --check --results --init --dry-run --config".split():
        assert word in help_text


def test_the_command_refuses_before_installing_anything(tmp_path):
    (tmp_path / "workflows").mkdir()
    for name in ("run-study", "workflows/command.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    assert ran("bash", tmp_path / "run-study", "--help").stdout == HELP


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The current folder, with a program of the user."""
    here = tmp_path / "Water Box"
    here.mkdir()
    (here / "run.py").touch()
    monkeypatch.chdir(here)
    return here


def test_any_program_in_one_line_is_a_study(program, started):
    typed = ["--command", "python3 run.py -n $processes", "--time", r"took (\S+)", "--processes", "2,1"]
    with pytest.raises(SystemExit):
        main(typed)
    (file,) = started[0].configfile
    study = read_study(Path(file))
    assert (study.name, study.cases, study.processes) == ("run_water_box", ("run",), (1, 2))
    entry = study.inline["run"]
    assert (entry["folder"], entry["time"], entry["left_out"][-1]) == (str(program), r"took (\S+)", "results")


def test_ctrl_c_before_the_study_starts_is_one_line(program, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "write_study", interrupt)
    with pytest.raises(SystemExit), one_line_errors(after_interrupt=GOES_ON):
        main(["--command", "python3 run.py"])
    line = "nodeworth: interrupted; what is recorded is kept; the same command goes on from there\n"
    assert capsys.readouterr().err == f"\n{line}"  # click ends the line of ^C


@pytest.mark.parametrize("file", ["cases/.lock", "records/1.json"])
def test_a_refused_study_leaves_no_empty_results(program, monkeypatch, file):
    def refuse(*_):
        kept.parent.mkdir(parents=True)
        kept.touch()
        sys.exit("nodeworth: refused")

    kept = Path("results/mine", file)
    monkeypatch.setattr(command, "args_to_api", refuse)
    with pytest.raises(SystemExit, match="nodeworth: refused"):
        main(["--command", "python3 run.py", "--name", "mine"])
    assert Path("results/mine").exists() is (file != "cases/.lock")


def test_a_study_file_that_the_user_edited_stays_when_it_is_refused(program, monkeypatch):
    """The pages advise to edit results/NAME/study.yaml. A repeated --command keeps an earlier folder too."""
    monkeypatch.setattr(command, "args_to_api", lambda *_: sys.exit("nodeworth: refused"))
    file = Path("results/mine/study.yaml")
    file.parent.mkdir(parents=True)
    file.write_text("name: mine\ncases: [cavity-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\n")
    for words in ([str(file)], ["--command", "python3 run.py", "--name", "mine"]):
        with pytest.raises(SystemExit, match="nodeworth: refused"):
            main(words)
        assert file.exists()


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["--time", "x"], "--time: belongs to --command"),
        (["--write"], "--write: belongs to --interconnects"),
        (["--name", "x"], "--name: belongs to --command or --case"),
        (["--command", "python3", "--steps", "5"], "--steps: belongs to --case"),
        (["--command", "mpirun -n 2 x"], "--command: mpirun: leave it out with its options"),
        (
            ["--command", "python3", "--time", "took .*"],
            "--time: 'took .*' has no group ( ); put the seconds",
        ),
        (["--command", "python3", "--time", "("], "--time: '(' is no regular expression: "),
        (
            ["--command", "python3", "--processes", "1,two"],
            "--processes: 'two' is not a whole number from 1 on, as in 1,2,4",
        ),
        (["--command", "python3", "--processes", "1,1"], "--processes: 1 is there twice; each only once"),
        (["--command", "python3", "--name", "My study"], "--name: 'My study' must be small letters"),
        (["--command", "python3", "--name", "smoke"], "--name: results/smoke holds another study"),
    ],
)
def test_one_line_for_a_command_that_cannot_be_timed(program, started, typed, line):
    Path("results/smoke").mkdir(parents=True)
    assert refusal(InputError, main, typed).startswith(line)


def test_a_target_that_no_rule_makes_is_one_line(tmp_path):
    (tmp_path / "runs.csv").write_text("case,interconnect,processes,seconds\nlid,ethernet,1,2\n")
    (tmp_path / "mine.yaml").write_text("name: mine\nimport: [runs.csv]\n")
    done = ran(ROOT / "run-study", "mine.yaml", "results/mine/reprt.pdf", cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    start = "nodeworth: no rule makes 'results/mine/reprt.pdf', did you mean 'results/mine/report.pdf'?; rules: all, "
    assert last.startswith(start) and "; files: results/mine/bandwidth.json, " in last
    assert "Exception" not in done.stderr


def test_a_misspelt_rule_gets_a_suggestion(tmp_path):
    (tmp_path / "runs.csv").write_text("case,interconnect,processes,seconds\nlid,ethernet,1,2\n")
    (tmp_path / "mine.yaml").write_text("name: mine\nimport: [runs.csv]\n")
    done = ran(ROOT / "run-study", "mine.yaml", "--forcerun", "analyze", cwd=tmp_path)
    assert "no rule makes 'analyze', did you mean 'analyse'?" in done.stderr.splitlines()[-1]


def test_ctrl_c_during_imports_prints_one_line(tmp_path):
    """A module with the name of Snakemake sends the signal in the middle of the imports."""
    (tmp_path / "snakemake.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    interrupted = subprocess.run(
        [sys.executable, "-P", "-m", "workflows.start"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    line = f"nodeworth: interrupted; what is recorded is kept{GOES_ON}\n"
    assert (interrupted.returncode, interrupted.stderr) == (INTERRUPTED, line)


def test_a_missing_folder_is_named_where_the_user_typed_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = refusal(InputError, main, ["--compare", "results/before", "results/after"])
    assert line.startswith(f"--compare: {tmp_path}/results/before: no results of a study are there")


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (
            ["--case", "a.tpr", "--command", "date"],
            "run-study: --command and --case cannot be combined",
        ),
        (["--init", "--archive"], "run-study: --archive and --init cannot be combined"),
        (
            ["--case", "a.tpr", "b.tpr", "c.tpr"],
            "run-study: b.tpr: unexpected word; --case takes a single case; put quotes around words with blanks",
        ),
        (
            ["--case", "a.tpr", "--processes", "1,", "2"],
            "run-study: 2: unexpected word; write process counts without blanks, as in --processes 1,2,4",
        ),
        (
            ["--command", "gmx", "mdrun"],
            "run-study: mdrun: unexpected word; --command takes a single command; put quotes around words with "
            "blanks",
        ),
    ],
)
def test_only_one_task_and_one_input_at_a_time(tmp_path, monkeypatch, typed, line):
    monkeypatch.chdir(tmp_path)
    assert refusal(InputError, main, typed) == line


def run_python(code, *folders):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [ROOT / "envs/interrupts", *folders]))}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_script_that_is_interrupted_at_its_start_prints_no_traceback():
    """The scripts of Snakemake begin with imports, which no handler of Nodeworth covers."""
    during_import = "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt as error:\n    raise ImportError from error"
    in_destructor = (
        "class A:\n    def __del__(self):\n        raise KeyboardInterrupt\nA()\nraise KeyboardInterrupt"
    )
    for code in ("raise KeyboardInterrupt", during_import, in_destructor):
        done = run_python(code)
        assert done.returncode != 0 and done.stderr == ""
    assert "ValueError: wrong" in run_python("raise ValueError('wrong')").stderr


def test_programs_of_a_script_do_not_inherit_its_folder(tmp_path):
    """A cluster's Python may need its own sitecustomize."""
    (tmp_path / "sitecustomize.py").write_text("print('the cluster')")
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    assert run_python(code, tmp_path).stdout == "the cluster\n"
    assert run_python("import os; print('PYTHONPATH' in os.environ)").stdout == "False\n"


def test_again_without_a_study_does_not_start_the_default_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "--again failed: no study is named, and the default study laptop has no results here"
    assert refusal(InputError, main, ["--again", "failed"]) == line
