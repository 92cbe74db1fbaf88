"""Rows of the runs table from logs with launchers, modules and ``time`` around the output."""

from functools import partial
from pathlib import Path

import pytest
from refused import refusal
from stamped_logs import read_log
from study_files import study_file

from workflows.domain import InputError
from workflows.study.imports import imports_of
from workflows.study.study import read_study

refusal_of = partial(refusal, InputError)
MELT = Path(__file__).parents[1] / "logs/lammps/melt_parallel.log.gz"
SOLVER = """\
Loading openmpi/4.1.2
/var/spool/slurmd/job00220/slurm_script: 9: module: not found
srun: job 220 queued and waiting for resources
Start time: 1724877823
Ranks: 1,024 of 3 threads
PCG Setup:
  wall clock time = 30.5 seconds
PCG Solve:
  wall clock time = 40.25 seconds
Figure of Merit: 6.67e+08
residual 7.5e-09
END

real\t1m20.500s
user\t0m0.020s
"""
READ = """
    read:
      seconds: ['PCG Setup:\\s+wall clock time = (\\S+) seconds', 'PCG Solve:\\s+wall clock time = (\\S+) seconds']
      processes: 'Ranks: ([\\d,]+)'
      threads: 'of (\\d+) threads'
      started: '^Start time: (\\d+)'
      answer: 'residual (\\S+)'
      fom: 'Merit: (\\S+)'
      complete: '^END$'
"""


def melt(tag="", before="", after=""):
    """A log of LAMMPS with text before and after, and `tag` before each line."""
    return before + "".join(f"{tag}{line.text}\n" for line in read_log(MELT)) + after


def imported(folder, entry, **logs):
    """What a study imports, from logs whose names have `__` for a slash."""
    for name, text in logs.items():
        file = folder / f"{name.replace('__', '/')}.out"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return imports_of(read_study(study_file(folder, f"name: theirs\nimport:\n  - logs: '**/*.out'\n{entry}")))


def test_regular_expressions_read_any_program(tmp_path):
    content = imported(tmp_path, f"    interconnect: efa\n    application: amg{READ}", first=SOLVER)
    (row,) = content.runs.to_dict("records")
    expected = {
        "case": "amg",
        "application": "amg",
        "interconnect": "efa",
        "kind": "published",
        "processes": 1024,
        "threads": 3,
        "cores": 3072,
        "seconds": 70.75,
        "wall_seconds": 80.5,
        "started": "2024-08-28T20:43:43+00:00",
        "answer": 7.5e-09,
        "fom": 6.67e8,
        "valid": True,
        "record": "first.out: line 9",
    }
    assert {key: row[key] for key in expected} == expected and not content.unread


TIMES = [
    ("real 80.50\nuser 0.02\nsys 0.01\n", 80.5),
    ("0.02user 0.01system 1:20.50elapsed 99%CPU (0avgtext+0avgdata)\n", 80.5),
    ("\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:20.50\n", 80.5),
    ("\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:00:05\n", 3605.0),
]


@pytest.mark.parametrize(("printed", "seconds"), TIMES)
@pytest.mark.parametrize("tag", ["", "[1,0]<stdout>:", " 0: "])
def test_every_form_of_time_and_of_a_rank_before_each_line(tmp_path, printed, seconds, tag):
    noise = "Loading gcc/12\nsrun: job 7 has been allocated resources\n"
    text = melt(tag, noise, printed)
    (row,) = imported(tmp_path, "    application: lammps\n    interconnect: efa\n", a=text).runs.to_dict(
        "records"
    )
    assert (row["seconds"], row["wall_seconds"], row["processes"]) == (3.27801, seconds, 2)
    assert row["answer"] == -5.75009237256 and row["work_unit"] == "atom steps"


def test_fields_of_the_path_constants_and_settings(tmp_path):
    entry = (
        "    application: lammps\n    processes_per_node: 1\n    kind: measured\n    settings: {ucx_tls: all}\n"
        "    from_path: '{interconnect}/size{nodes}/{case}-{problem}-{iteration}.out'\n"
    )
    runs = imported(tmp_path, entry, **{f"eth__size2__melt-hot-{n}": melt() for n in range(3)}).runs
    assert (
        runs["repetition"].tolist() == [1, 2, 3] and runs["block"].nunique() == 3
    )  # counted from 0, unpaired
    columns = ["interconnect", "nodes", "case", "problem", "kind", "ucx_tls", "order_from"]
    assert runs[columns].drop_duplicates().to_dict("records") == [
        dict(zip(columns, ("eth", 2, "melt", "hot", "measured", "all", "repetition of file 1"), strict=True))
    ]


def test_a_stated_block_pairs_runs_and_names_give_no_order(tmp_path):
    logs = {f"eth__{n}": melt() for n in "abc"} | {f"ib__{n}": melt() for n in "abc"}
    fields = "    application: lammps\n    from_path: '{interconnect}/{name}.out'\n"
    assert set(imported(tmp_path, fields, **logs).runs["order_from"]) == {"unknown of file 1"}
    numbered = {f"{network}__{n}": melt() for network in ("eth", "ib") for n in (1, 2)}
    (tmp_path / "paired").mkdir()
    fields = "    application: lammps\n    from_path: '{interconnect}/{block}.out'\n"
    runs = imported(tmp_path / "paired", fields, **numbered).runs
    assert runs.groupby("interconnect")["block"].agg(list).to_dict() == {"eth": [1, 2], "ib": [1, 2]}


def test_nodes_give_the_processes_that_a_failed_log_lacks(tmp_path):
    entry = (
        "    application: lammps\n    interconnect: efa\n    processes_per_node: 2\n"
        "    from_path: 'size{nodes}/*'\n"
    )
    failed = "Start time: 1725067218\nslurmstepd: error: *** JOB 91 CANCELLED ***\n"
    content = imported(tmp_path, entry, size1__a=melt(), size1__b=failed)
    sound, invalid = content.runs.to_dict("records")
    assert (sound["valid"], invalid["valid"], invalid["processes"]) == (True, False, 2)
    assert (
        invalid["reason"] == "the launcher reports a failure" and invalid["record"] == "size1/b.out: line 2"
    )
    (listed,) = content.unread
    assert listed.what == "size1/b.out: line 2"
    assert listed.reason == "the launcher reports a failure, at 'slurmstepd: error: *** JOB 91 CANCELLED ***'"


def test_without_processes_a_failed_log_is_listed(tmp_path):
    content = imported(tmp_path, "    application: lammps\n    interconnect: efa\n", a=melt(), b="Killed\n")
    assert len(content.runs) == 1
    assert [(item.what, item.reason) for item in content.unread] == [
        ("b.out: line 1", "no output of lammps in the log, at 'Killed'")
    ]


FOREIGN = [
    (
        "Time[ps]  Etot[eV]\n0.0000  -1529.456\n",
        2,
        "no output of lammps in the log, at '0.0000 -1529.456'",
    ),
    (
        "Log file opened\n       :-) GROMACS - gmx mdrun, 2022.5 (-:\nStep\n",
        2,
        "no output of lammps in the log, but output of gromacs, at ':-) GROMACS - gmx mdrun, 2022.5 (-:'",
    ),
]


@pytest.mark.parametrize(("text", "line", "reason"), FOREIGN)
def test_a_log_of_another_program(tmp_path, text, line, reason):
    entry = "    application: lammps\n    interconnect: efa\n"
    content = imported(tmp_path, entry, a=melt(), b=text)
    assert [(item.what, item.reason) for item in content.unread] == [(f"b.out: line {line}", reason)]


FAILURES = [
    "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
    "Primary job  terminated normally, but 1 process returned",
    "mpirun noticed that process rank 1 with PID 7 on node n1 exited on signal 11 (Segmentation fault).",
    "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 1",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "srun: error: n1: task 1: Segmentation fault",
    "62.898s: job.exception type=cancel severity=0 ",
    "slurmstepd: error: *** STEP 91.0 ON n1 CANCELLED AT 2024-05-26T17:00:00 DUE TO TIME LIMIT ***",
]


NOT_ABOVE_0 = [
    ("", "0 steps: no step was timed"),
    ("    read: {work: {pattern: 'for (\\d+) steps', unit: steps}}\n", "0 steps: no step was timed"),
    (
        "    read: {seconds: '^Loop time of (\\S+)', work: {pattern: 'for (\\d+) steps', unit: steps}}\n",
        "0 steps",
    ),
    ("    read: {threads: 'for (\\d+) steps'}\n", "0 steps: no step was timed"),
]


@pytest.mark.parametrize(("read", "reason"), NOT_ABOVE_0)
def test_a_log_without_steps_does_not_stop_the_study(tmp_path, read, reason):
    entry = f"    application: lammps\n    interconnect: efa\n{read}"
    logs = {"a": melt(), "b": melt().replace("for 200 steps", "for 0 steps")}
    rows = imported(tmp_path, entry, **logs).runs.to_dict("records")
    assert [row["valid"] for row in rows] == [True, False] and rows[1]["reason"].startswith(reason)


def test_a_number_that_is_not_above_0_makes_its_log_invalid(tmp_path):
    entry = (
        "    interconnect: efa\n    processes: 2\n"
        "    read: {seconds: 'main (\\S+)', threads: 'threads (\\S+)', work: {pattern: 'cells (\\S+)', unit: cells}}\n"
    )
    logs = {"a": "main 9.5\nthreads 1\ncells 80\n", "b": "main 9.5\nthreads 1\ncells 0\n"}
    logs["c"] = "main 9.5\nthreads 0\ncells 80\n"
    rows = imported(tmp_path, entry, **logs).runs.to_dict("records")
    assert [row["valid"] for row in rows] == [True, False, False]
    reasons = ["read.work: '0' is not above 0", "read.threads: '0' is not above 0"]
    assert [row["reason"] for row in rows[1:]] == reasons


@pytest.mark.parametrize("line", FAILURES)
def test_a_failure_after_the_time_of_a_run(tmp_path, line):
    entry = "    application: lammps\n    interconnect: efa\n"
    rows = imported(tmp_path, entry, a=melt(), b=melt(after=f"{line}\n")).runs.to_dict("records")
    assert [row["valid"] for row in rows] == [True, False]
    assert rows[1]["reason"] == "the launcher reports a failure"


def test_what_a_launcher_says_without_a_failure(tmp_path):
    before = "srun: job 7 queued and waiting for resources\nmpirun -np 2 lmp -in in.melt\n"
    entry = "    application: lammps\n    interconnect: efa\n"
    (row,) = imported(tmp_path, entry, a=melt(before=before)).runs.to_dict("records")
    assert row["valid"]


def test_a_path_that_does_not_match_is_listed(tmp_path):
    entry = "    application: lammps\n    from_path: '{interconnect}/*.out'\n"
    content = imported(tmp_path, entry.replace("{inter", "runs/{inter"), runs__eth__a=melt(), other__a=melt())
    assert len(content.runs) == 1
    assert [(item.what, item.reason) for item in content.unread] == [
        ("other/a.out", "from_path 'runs/{interconnect}/*.out' does not match the path")
    ]


CONTRADICTIONS = [
    ("    processes: 4\n", "ran with processes 2; the path or the study states 4"),
    ("    nodes: 4\n    processes_per_node: 2\n", "2 processes on 4 nodes contradict processes_per_node, 2"),
    (
        "    expected_answer: {value: -5.7, tolerance: 1.0e-3}\n",
        "wrong answer: -5.75009, expected -5.7 within",
    ),
    (
        "    read: {wall_seconds: 'Loop time of \\S+ on (\\S+)'}\n",
        "the main loop of 3.27801 s is longer than the job of",
    ),
    ("    read: {threads: 'threads: (\\d+)'}\n", "incomplete: nothing in the log matches read.threads"),
    ("    read: {started: 'Loop time of (\\S+ on)'}\n", "read.started: '3.27801 on' is no date"),
    ("    read: {complete: '^END$'}\n", "incomplete: nothing in the log matches read.complete"),
    ("    read: {answer: 'Loop (time)'}\n", "read.answer: 'time' is no number"),
    ("    read: {seconds: 'time = (\\S+)'}\n", "incomplete: nothing in the log matches read.seconds"),
]


@pytest.mark.parametrize(("entry", "reason"), CONTRADICTIONS)
def test_a_log_that_contradicts_what_is_stated_is_invalid(tmp_path, entry, reason):
    stated = "    application: lammps\n    interconnect: efa\n"
    (row,) = imported(tmp_path, stated + entry, a=melt()).runs.to_dict("records")
    assert not row["valid"] and row["reason"].startswith(reason)


def test_an_expression_chooses_among_several_times(tmp_path):
    entry = "    application: lammps\n    interconnect: efa\n    read: {seconds: 'Loop time of (\\S+)'}\n"
    (row,) = imported(tmp_path, entry, a=melt() + melt().replace("of 3.27801 on", "of 9.5 on")).runs.to_dict(
        "records"
    )
    assert row["valid"] and row["seconds"] == 9.5


def test_a_time_in_another_unit(tmp_path):
    entry = (
        "    interconnect: efa\n    processes: 2\n"
        "    read: {seconds: {pattern: '^main +1 +(\\S+)', unit: us}, work: {pattern: 'cells (\\S+)', unit: cells}}\n"
    )
    (row,) = imported(tmp_path, entry, a="main   1  1.5e+06  7\ncells 80\n").runs.to_dict("records")
    assert (row["case"], row["seconds"], row["work"], row["work_unit"]) == ("logs", 1.5, 80, "cells")


REFUSED = [
    ("    application: lammps\n", "import[0].interconnect: missing; state it next to logs, or as"),
    (
        "    application: lammps\n    from_path: 'x/{interconnect}'\n",
        "import[0]: none of 1 logs can be read; the first: a.out: from_path 'x/{interconnect}' does not match",
    ),
    (
        "    application: lammps\n    interconnect: 'my network'\n",
        "import[0]: a.out: interconnect: 'my network': it must be letters, digits",
    ),
]


@pytest.mark.parametrize(("entry", "expected"), REFUSED)
def test_an_entry_that_makes_no_row(tmp_path, entry, expected):
    assert f"theirs.yaml: {expected}" in refusal_of(imported, tmp_path, entry, a=melt())


def test_osu_files_of_a_folder(tmp_path):
    table = (
        "# OSU MPI {} Test v5.8\n# Size          {}\n1                      15.53\n8                 16.16\n"
    )
    text = "module: not found\n" + table.format("Latency", "Latency (us)")
    text += table.format("Bandwidth", "Bandwidth (MB/s)")
    content = imported(
        tmp_path, "    format: osu\n    from_path: '{interconnect}/*'\n", eth__a=text, ib__a=text
    )
    curves = content.published["network_curves"]
    assert curves.groupby(["interconnect", "benchmark"]).size().to_dict() == {
        (network, name): 2 for network in ("eth", "ib") for name in ("osu_latency", "osu_bandwidth")
    }
    assert len(content.unread) == 2 and "is a line of another program" in content.unread[0].reason


def test_an_osu_file_without_a_curve_is_listed_unless_there_is_no_other(tmp_path):
    table = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n1                      15.53\n"
    empty = "# OSU MPI Latency Test v5.8\nflux-job: task(s) exited with exit code 143\n"
    entry = "    format: osu\n    interconnect: eth\n"
    content = imported(tmp_path, entry, sound=table, stopped=empty)
    assert len(content.published["network_curves"]) == 1
    (listed,) = content.unread
    assert "stopped.out: holds no curve: " in listed.reason and "line 2: 'flux-job: " in listed.reason
    (tmp_path / "sound.out").unlink()
    assert "stopped.out: holds no curve: " in refusal_of(imported, tmp_path, entry)
