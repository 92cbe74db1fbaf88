"""Key ``congestion`` of a study: closed, checked before anything runs, and handed to the analysis."""

import pytest
from refused import refusal
from study_files import study_file

from workflows.domain import InputError
from workflows.plan.plan import make_plan
from workflows.study.study import read_study

CURVES = "benchmark,interconnect,bytes,quantity,value\npingpong,theirs,8,latency_us,4.3\n"


def study(folder, congestion=""):
    (folder / "curves.csv").write_text(CURVES)
    section = f"congestion: {congestion}\n" if congestion else ""
    return study_file(folder, f"name: loads\nimport: [curves.csv]\n{section}")


def test_it_reaches_the_analysis_with_its_defaults(tmp_path):
    plan = make_plan(study(tmp_path, "{topologies: {A: {ring: 8}}, patterns: [uniform]}"))
    assert plan.asked.request.study_keys["congestion"] == {
        "topologies": {"A": {"ring": 8}}, "patterns": ["uniform"], "matrices": []
    }  # fmt: skip


def test_a_study_without_it_asks_for_nothing(tmp_path):
    file = study(tmp_path)
    assert read_study(file).congestion == {} and "congestion" not in make_plan(file).asked.request.study_keys


@pytest.mark.parametrize(
    ("congestion", "message"),
    [
        ("{topologies: {A: {ring: 8}}}", "congestion.patterns: missing"),
        ("{topologies: {A: {ring: 8, star: 8}}, patterns: [uniform]}", "congestion.topologies.A: "),
        ("{topologies: {A: {mesh: 8}}, patterns: [uniform]}", "congestion.topologies.A.mesh: unknown key"),
        ("{topologies: {A: {ring: 8}}, patterns: [unifrm]}", "congestion.patterns[0]: A: pattern: unifrm: "),
        ("{topologies: {A: {ring: 6}}, patterns: [shuffle]}", "congestion.patterns[0]: A: processes: 6: shuffle"),
        ("{topologies: {A: {ring: 8}}, patterns: [uniform], matrices: [shuffle]}", "congestion.matrices[0]: 'shuffle'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_with_file_and_key(tmp_path, congestion, message):
    file = study(tmp_path, congestion)
    assert refusal(InputError, make_plan, file).startswith(f"{file}: {message}")
