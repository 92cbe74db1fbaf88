"""A study that is killed repeatedly loses no record and leaves no process behind."""

import random
import re
import signal
import subprocess
import time

import psutil
import pytest
from machine_state import left_behind
from needs import DEFAULT_SIGNALS
from terminals import on_terminal
from waiting import wait_until

from workflows.paths import ROOT
from workflows.plan.machine import only_study_on_this_machine

pytestmark = [pytest.mark.slow, pytest.mark.alone]

STUDY = """
name: killed
cases: [cavity-smoke]
interconnects: [emulated_gigabit, shared_memory]
processes: [1, 2, 4]
oversubscription: [1, 2]
blocks: 9
limits: {idle_seconds: 0.1}
"""
RUNS = 6 * 9  # serial; 2 processes on both and, two a core, on shared memory; 4 on both


def snapshot(records):
    return {file: file.read_bytes() for file in records.rglob("*.json")}


def kill(process: subprocess.Popen, everything: bool) -> None:
    doomed = psutil.Process(process.pid).children(recursive=True) if everything else []
    process.kill()
    for child in doomed:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait(timeout=30)


def test_ten_kills(study_folder):
    before = left_behind()
    study = study_folder.write(STUDY)
    records = study_folder.results("killed") / "records"
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    seen: dict = {}
    target = "results/killed/runs.csv"
    for _ in range(10):
        command = study_folder.command(study, "--", target)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and snapshot(records) == seen and dice.random() < 0.99:
            time.sleep(0.1)  # mostly until something is measured, now and then while it starts
        time.sleep(dice.uniform(0, 1))
        assert process.poll() is None, "the study ended before it was killed"
        kill(process, everything=dice.random() < 0.5)
        now = snapshot(records)
        assert seen.items() <= now.items(), f"a record was lost or changed (seed {seed})"
        seen = now
    assert seen, "no kill hit the measuring"
    study_folder.run_well(study, "--", target)
    end = snapshot(records)
    assert seen.items() <= end.items(), f"a record was lost or changed (seed {seed})"
    assert len(end) == RUNS, f"a repetition was made twice or not at all (seed {seed})"
    assert all("attempt-1.json" in file.name for file in end)
    assert left_behind() <= before


def test_ctrl_c_leaves_no_process_and_lists_the_results(study_folder):
    """On a terminal, between the second block and the last."""
    before = left_behind()
    study = study_folder.write(STUDY.replace("blocks: 9", "blocks: 90"))
    results = study_folder.results("killed")
    command = [*DEFAULT_SIGNALS, "-C", str(study_folder.folder), str(ROOT / "run-study"), str(study)]
    status, output = on_terminal(command, "] 7/540")
    assert status == 130
    assert "Traceback" not in output and "Error" not in output, output
    there = r"1 of 90 blocks and \d further runs? recorded; interim report of 1 block in results/killed/partial/report.html"
    assert re.search(f"stopped; {there}; the same command goes on from there", output)
    assert re.search(r"\r[^\n]*\[-+\] 6/540 +about \d+ (min|s) left, [\d.]+ s for cavity-smoke", output), (
        output
    )
    assert "Select jobs" not in output and "Execute" not in output
    assert re.search(r"1 of 90\sblocks, \d+\sminutes? to go", (results / "partial/report.html").read_text())
    assert snapshot(results / "records")
    assert left_behind() <= before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_study_that_waits_for_the_machine(study_folder, tmp_path, number):
    """Only Snakemake gets the signal, as from ``kill``; Ctrl-C on a terminal reaches its script as well."""
    study, output_file = study_folder.write(STUDY), tmp_path / "output.txt"
    with only_study_on_this_machine(print), output_file.open("w") as out:
        process = subprocess.Popen([*DEFAULT_SIGNALS, *study_folder.command(study)], stdout=out, stderr=out)
        try:
            wait_until(lambda: "waiting for another study" in output_file.read_text(), 120)
            process.send_signal(number)
            assert process.wait(timeout=60) != 0
        finally:
            process.kill()
    output = output_file.read_text()
    assert "waiting for another study" in output and "stopped; 0 of 9 blocks recorded; the same" in output, (
        output
    )
    assert "Traceback" not in output and "Error" not in output and "Exception" not in output, output
