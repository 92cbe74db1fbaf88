"""A dry run of --compare writes nothing, and the names of profiles are not printed."""

import json

import pytest
from programs import ran

from workflows.paths import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    for name, factor in (("old", 1.0), ("new", 0.8)):
        (folder / name).mkdir()
        rows = [f"duct,fast,measured,{count},{8 * factor / count}" for count in (1, 2, 4)]
        (folder / name / "runs.csv").write_text(
            "\n".join(["case,interconnect,kind,processes,seconds", *rows, ""])
        )
        (folder / name / "facts.json").write_text(json.dumps({"study": {}}))
    return folder


def test_a_dry_run_of_compare_writes_nothing(folder):
    done = ran(ROOT / "run-study", "--compare", "old", "new", "--dry-run", cwd=folder, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "compare_old_new: nothing is run; imported files: 2" in done.stderr
    assert "Job stats" in done.stdout + done.stderr
    assert not (folder / "results").exists()
    assert "default command line arguments" not in done.stdout + done.stderr
