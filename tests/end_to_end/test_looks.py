"""A study that is extended after a report states the number of looks."""

import json

import pandas as pd
import pytest
from report_parts import plain, sayings

from workflows.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # each block counts: none may be disturbed
STUDY = f"""
name: looked_at
cases: [harmonic-smoke]
cases_folder: {ROOT}/tests/cases
interconnects: [shared_memory, tcp_loopback]
processes: [1, 2]
limits: {{idle_seconds: 0.1}}
"""


def test_a_study_that_is_extended_after_a_report(study_folder):
    """Tests at look 2 go by 5 % / 4, so that one takes 2 / 2^8 at most, and at look 3 by 5 % / 8: 2 / 2^9."""
    results = study_folder.results("looked_at")
    levels = {1: "at most 0.05 after", 2: "at most 0.0125 after", 3: "at most 0.00625 after"}
    for look, (blocks, needed) in enumerate({2: 6, 3: 8, 4: 9}.items(), 1):
        study = study_folder.write(f"{STUDY}blocks: {blocks}\n")
        study_folder.run_well(study, "--", "results/looked_at/report.json")
        study_facts = json.loads((results / "facts.json").read_text())["study"]
        assert study_facts["blocks"] == study_facts["blocks_recorded"] == blocks
        assert study_facts["looks"] == [2, 3, 4][:look]
        sentences = plain("\n".join(sayings(json.loads((results / "report.json").read_text()))))
        assert (f"this is look {look} at its data" in sentences) == (look > 1)
        assert levels[look] in sentences
        (row,) = pd.read_csv(results / "tables/improvement.csv").to_dict("records")
        assert (row["blocks_needed"], row["verdict"]) == (needed, f"untestable with {blocks} blocks")
    kept = json.loads((results / "looks.json").read_text())["looks"]
    assert [look["blocks"] for look in kept] == [2, 3, 4]
