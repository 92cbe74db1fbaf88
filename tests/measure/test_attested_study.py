"""A study whose interconnect differs from its file."""

import json
import re
from dataclasses import replace

import pytest
from study_files import study_file

from workflows.launch.emulation import emulated_nodes
from workflows.measure.measure import measure
from workflows.measure.prepare import prepare, reference_answer
from workflows.plan.plan import make_plan
from workflows.results.collect import runs_table

pytestmark = [pytest.mark.slow, pytest.mark.alone]

NAME = "emulated_ten_gigabit"
STUDY = f"""
name: mislabelled
title: Mislabelled
question: Is it what it says?
cases: [barrier-smoke]
interconnects: [{NAME}]
processes: [2]
blocks: 1
seed: 1
limits: {{core_hours: 1, run_seconds: 60, idle_seconds: 0}}
"""


def changed(plan, **changes):
    """Plan with another description of its interconnect."""
    asked = replace(plan.asked, interconnects={NAME: replace(plan.asked.interconnects[NAME], **changes)})
    return replace(plan, design=replace(plan.design, asked=asked))


def judged(plan):
    """Validity and reason of the only run."""
    [row] = runs_table(plan)[0].to_dict("records")
    return row["valid"], row["reason"]


def test_a_run_over_a_link_of_another_rate_counts_only_after_the_file_is_corrected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = make_plan(study_file(tmp_path, STUDY))
    wrong = changed(plan, emulate=plan.asked.interconnects[NAME].emulate | {"rate_mbps": 1000})
    [repetition] = wrong.design.repetitions
    prepare(wrong.asked.cases["barrier-smoke"], 2, wrong.paths.prepared("barrier-smoke", 2))
    reference = reference_answer(plan.asked.cases["barrier-smoke"], tmp_path, 60)
    wrong.paths.expected("barrier-smoke").write_text(json.dumps(reference))
    with emulated_nodes(wrong.asked.interconnects[NAME].emulate) as nodes:
        record = measure(wrong, repetition, 1, nodes)
    assert (record.valid, record.problem) == (False, None)
    assert re.fullmatch(
        rf"the probe between ranks 0 and 1 contradicts {NAME}: latency \S+ µs \(attested 2.5 to 100\), "
        r"bandwidth \S+ MB/s \(attested 160 to 1300\)",
        record.reason,
    )
    assert record.probe.way == "in the run"
    assert record.probe.attempts == 5
    assert record.probe.hosts == ["emulated-node1", "emulated-node2"]
    assert record.probe.bandwidth_MBps < 140
    assert runs_table(wrong)[0]["probe_latency_us"].tolist() == [record.probe.latency_us]
    assert judged(wrong) == (False, record.reason)

    right = changed(wrong, attest={"bandwidth_MBps": [1, 140]})
    assert judged(right)[0]  # by the file as it is now

    path = wrong.paths.record(repetition, 1)
    earlier = record.as_json()
    del earlier["probe"]
    path.write_text(json.dumps(earlier))
    assert judged(wrong)[0]
