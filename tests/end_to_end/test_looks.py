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
    """Look 1 needs 6 blocks: 2 / 2^6 < 5 %. Look 2 needs 8: 2 / 2^8 < 5 % / 4. Too few blocks are no look."""
    results = study_folder.results("looked_at")
    for blocks, look in {2: 1, 6: 1, 7: 2, 8: 2}.items():
        needed = 6 if look == 1 else 8
        study = study_folder.write(f"{STUDY}blocks: {blocks}\n")
        study_folder.run_well(study, "--", "results/looked_at/report.json")
        study_facts = json.loads((results / "facts.json").read_text())["study"]
        assert study_facts["blocks"] == study_facts["blocks_recorded"] == blocks
        assert study_facts["looks"] == {"harmonic-smoke": look}
        sentences = plain("\n".join(sayings(json.loads((results / "report.json").read_text()))))
        assert ("This is look 2 at this case" in sentences) == (look > 1)
        (row,) = pd.read_csv(results / "tables/improvement.csv").to_dict("records")
        assert row["blocks_needed"] == needed
        assert (row["verdict"] == f"untestable with {blocks} blocks") == (blocks < needed)
    kept = json.loads((results / "looks.json").read_text())["looks"]
    assert [look["cases"]["harmonic-smoke"]["blocks"] for look in kept] == [6, 8]


def test_a_repeated_case_is_a_further_look_at_this_case(study_folder):
    """The study has two comparisons, so 7 blocks are enough: 2 × 2 / 2^7 < 5 %."""
    cases = STUDY.replace("[harmonic-smoke]", "[harmonic-smoke, harmonic]")
    study = study_folder.write(f"{cases}blocks: 7\n")
    results = study_folder.results("looked_at")
    for again, looks in {None: 1, "harmonic-smoke/tcp_loopback/2": 1, "harmonic-smoke": 2}.items():
        request = ["--config", f"again={again}"] if again else []
        study_folder.run_well(study, *request, "--", "results/looked_at/report.json")
        study_facts = json.loads((results / "facts.json").read_text())["study"]
        assert study_facts["looks"] == {"harmonic-smoke": looks, "harmonic": 1}
    table = pd.read_csv(results / "tables/improvement.csv", index_col="case")
    assert table["blocks"].to_dict() == {"harmonic-smoke": 14, "harmonic": 7}
    assert table["blocks_needed"].to_dict() == {"harmonic-smoke": 9, "harmonic": 7}
    assert not table["verdict"].str.startswith("untestable").any()
