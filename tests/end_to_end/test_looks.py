"""A study that is extended after a report has been looked at, and says so."""

import json

import pytest
from report_parts import plain, sayings

from workflows.paths import ROOT

pytestmark = pytest.mark.slow
STUDY = f"""
name: looked_at
cases: [harmonic-smoke]
cases_folder: {ROOT}/tests/cases
interconnects: [shared_memory]
processes: [1, 2]
limits: {{idle_seconds: 0.1}}
"""


def test_a_study_that_is_extended_after_a_report(study_folder):
    results = study_folder.results("looked_at")

    def looked(blocks):
        study = study_folder.write(f"{STUDY}blocks: {blocks}\n")
        study_folder.run_well(study, "--", "results/looked_at/report.json")
        told = json.loads((results / "facts.json").read_text())["study"]
        assert told["blocks"] == told["blocks_recorded"] == blocks
        said = plain("\n".join(sayings(json.loads((results / "report.json").read_text()))))
        return told["looks"], "This is look 2 at the study" in said

    assert looked(1) == ([1], False)
    assert looked(2) == ([1, 2], True)
    kept = json.loads((results / "looks.json").read_text())["looks"]
    assert [look["blocks"] for look in kept] == [1, 2]
