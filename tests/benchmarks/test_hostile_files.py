"""Files of an attacker are refused in one line or read; no shell reads a word of them."""

import subprocess

import pytest

from tests.benchmarks import hostile_files
from tests.benchmarks.hostile_files import CANARY, SITE, attack, mix, shell_lines
from workflows.jobs import cluster


def test_hostile_files_give_no_traceback_and_reach_no_shell():
    counts, wrong = attack(100, seed=7)
    assert not wrong
    refused = sum(number for (_, outcome), number in counts.items() if outcome == "refused")
    assert sum(counts.values()) == 100 and 0 < refused < 100


@pytest.mark.parametrize(("key", "reached"), [("modules", True), ("container", True), ("extra", False)])
def test_the_attack_finds_a_site_file_that_reaches_a_shell(key, reached, tmp_path):
    """What Snakemake puts into a shell's line unquoted must be refused before; options of sbatch are quoted."""
    value = f"x; touch {CANARY} #"
    given = cluster.inputs.defaults("cluster") | SITE | {key: [value] if key == "modules" else value}
    given["scheduler"] = cluster.SCHEDULERS[given["scheduler"]]
    site = cluster.Cluster(
        **{name: given.get(name) for name in cluster.Cluster.__dataclass_fields__ if name != "file"},
        file=tmp_path,
    )
    for line in shell_lines(site):
        subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, timeout=20)
    assert (tmp_path / CANARY).exists() is reached


def test_a_reader_that_fails_is_found(monkeypatch):
    def fails(_):
        raise KeyError("name")

    monkeypatch.setattr(hostile_files, "KINDS", {"case": (fails, hostile_files.KINDS["case"][1])})
    counts, wrong = attack(1, seed=1)
    assert not counts and "KeyError" in wrong[0]


def test_damaged_outputs_give_no_value_that_the_whole_output_lacks():
    counts, wrong = mix(150, seed=7)
    assert not wrong
    assert counts["refused"] and counts["read"]


def test_a_reader_that_makes_up_a_value_is_found(monkeypatch):
    """The readers of the damaged outputs add a microsecond to each latency."""
    values = hostile_files.values

    def later(file, *reading):
        rows = values(file, *reading)
        is_damaged = not file.is_relative_to(hostile_files.FOREIGN)
        return [
            row | {name: row[name] + 1 for name in row if is_damaged and name == "latency_us"} for row in rows
        ]

    monkeypatch.setattr(hostile_files, "values", later)
    assert mix(len(hostile_files.OUTPUTS), seed=1)[1]
