"""What Snakemake is made to find out only once, and that the answers stay the same."""

import sys

import pytest
from programs import ran
from snakemake import api, common, dag, rules, sourcecache  # noqa: F401 - api before the others

from workflows.paths import ROOT
from workflows.plan.once import work_out_once

SNAKEFILE = """
from workflows.plan.once import work_out_once

work_out_once()

rule all:
    input: expand("{number}.txt", number=range(3))

rule make:
    output: "{number}.txt"
    params: twice=lambda wildcards: 2 * int(wildcards.number), own=lambda wildcards, output: output[0]
    resources: mem_mb=lambda wildcards, attempt: 100 * attempt + int(wildcards.number)
    conda: "env.yaml"
    script: "SCRIPT"
"""


@pytest.fixture
def asked(monkeypatch):
    """What Snakemake has asked Python about the parameters of functions, while it is made to ask once."""
    asked = []

    def parameters(function):
        asked.append(function)
        return plain(function)

    plain = common.get_function_params
    for module in (common, rules):
        monkeypatch.setattr(module, "get_function_params", parameters)
    monkeypatch.setattr(sourcecache, "parse_uri", sourcecache.parse_uri)
    monkeypatch.setattr(dag.ScriptProcessor, "process_job", dag.ScriptProcessor.process_job)
    work_out_once()
    return asked


class Memory:
    def __init__(self, size):
        self.size = size

    def of(self, wildcards, attempt):
        return self.size * attempt


def test_parameters_of_functions_are_asked_once(asked):
    def two(wildcards, attempt):
        return attempt

    for _ in range(3):
        assert list(rules.get_function_params(two)) == ["wildcards", "attempt"]
        assert list(rules.get_function_params(lambda wildcards: 1)) == ["wildcards"]
    assert asked.count(two) == 1 and len(asked) == 4


def test_parameters_of_methods_are_asked_once_for_all_objects(asked):
    for size in range(3):
        assert list(common.get_function_params(Memory(size).of)) == ["wildcards", "attempt"]
    assert list(common.get_function_params(Memory.of)) == ["self", "wildcards", "attempt"]
    assert len(asked) == 2


def snakemake(folder, *options):
    command = [sys.executable, "-m", "snakemake", "--directory", folder, "--snakefile", folder / "Snakefile"]
    environment = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "PYTHONHASHSEED": "0"}
    done = ran(*command, "--cores", "1", *options, cwd=folder, timeout=100, **environment)
    return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if "host:" not in line]


@pytest.mark.slow
@pytest.mark.parametrize("script", ["there.py", "missing.py"])
def test_snakemake_says_the_same(tmp_path, script):
    (tmp_path / "env.yaml").write_text("channels: [conda-forge]\ndependencies: [python]\n")
    (tmp_path / "there.py").write_text("print('there')\n")
    told = []
    for text in (SNAKEFILE, SNAKEFILE.replace("work_out_once()\n", "")):
        (tmp_path / "Snakefile").write_text(text.replace("SCRIPT", script))
        told.append(snakemake(tmp_path, "--dry-run"))
    status, lines = told[0]
    assert status == (script == "missing.py")
    assert sum("rule make:" in line for line in lines) == (0 if status else 3), lines
    assert ending(lines) == ending(told[1][1])


def ending(lines):
    """What is said of the jobs, in order; of what is wrong the last line, since it comes with a traceback."""
    jobs = [line for line in lines if line.startswith(("rule", "    "))]
    return lines[-1:] if "Traceback (most recent call last):" in lines else jobs
