"""What a report states besides numbers."""

import pandas as pd

from analysis.runs.runs import complete_runs
from workflows.plan.plan import make_plan
from workflows.results.facts import facts

STUDY = """
name: several
cases: [rotor, rotor-smoke, water_ccsd, water_ccsd-server_polling]
interconnects: [shared_memory]
processes: [1, 2]
"""


def test_sizes_and_options_of_a_case_have_titles_of_their_own(tmp_path):
    (tmp_path / "several.yaml").write_text(STUDY)
    plan = make_plan(tmp_path / "several.yaml", {})
    nothing = complete_runs(
        pd.DataFrame(columns=["case", "interconnect", "processes", "seconds", "origin"]), may_be_empty=True
    )
    told = facts(plan, nothing, [], [])["cases"]
    assert {name: about["title"] for name, about in told.items()} == {
        "rotor": "Rotor, transonic, 90k",
        "rotor-smoke": "Rotor, transonic, smoke",
        "water_ccsd": "Water cluster, coupled cluster",
        "water_ccsd-server_polling": "Water cluster, coupled cluster, server polling",
    }
    assert "A data server beside each process" in told["water_ccsd-server_polling"]["description"]
    assert "A data server" not in told["water_ccsd"]["description"]
