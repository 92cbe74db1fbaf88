"""A model made by one command from what a benchmark printed, and what that refuses."""

import pandas as pd
import pytest
from refused import refusal

from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.replay import new_model as command
from workflows.replay.new_model import new_model
from workflows.study.asked import read_asked

OSU = ROOT / "tests/importers/files/osu"


@pytest.fixture(autouse=True)
def fitted(tmp_path, monkeypatch):
    """Folder of what tells how well models fit."""
    monkeypatch.setattr(command, "MODELS", tmp_path / "fitted")
    return tmp_path / "fitted"


def test_a_model_from_what_osu_printed_lies_beside_a_study(tmp_path, fitted):
    words = ["vendor", "latency_7.4.txt", "bw_7.4.txt", "--cores", "8", "--folder", str(tmp_path)]
    told = new_model(words, OSU)
    assert told[-1] == f"{tmp_path}/vendor.yaml; how it fits: {fitted}/vendor/model-vendor.png"
    fit = pd.read_csv(fitted / "vendor/fit.csv")
    assert len(fit) == 18 and fit["error_percent"].abs().mean() < 1
    assert (fitted / "vendor/model-vendor.svg").stat().st_size > 5000
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ncases: [elbow_segregated-smoke]\ninterconnects: [vendor, gigabit_ethernet]\n"
        "interconnects_folder: .\nprocesses: [1, 2]\n"
    )
    joined = read_asked(tmp_path / "mine.yaml").interconnects
    assert joined["vendor"].cores_per_node == 8 and joined["gigabit_ethernet"].kind == "simulated"
    assert joined["vendor"].simulate["curve"]["file"] == str(tmp_path / "vendor.csv")
    told = refusal(InputError, new_model, words, OSU)
    assert told == f"--model: {tmp_path}/vendor.yaml is there already; remove it, or take another name"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["vendor"], "--model: the following arguments are required: FILE"),
        (["Vendor", "latency_7.4.txt"], "--model: 'Vendor' is no name: small letters, digits and _"),
        (["vendor", "gone.txt"], f"--model: {OSU}/gone.txt: there is no such file"),
        (["vendor", "bw_7.4.txt"], "no ping-pong (osu_latency, imb_pingpong, netpipe, pingpong) is among"),
        (["vendor", "latency_7.4.txt", "--cores", "0"], "--cores: 0: must be at least 1"),
        (["vendor", "latency_7.4.txt", "--eager", "9000000"], "vendor.yaml: simulate: no point of the curve"),
        (
            ["vendor", str(ROOT / "analysis/published/pmb.csv")],
            f"--model: {ROOT}/analysis/published/pmb.csv: has",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(tmp_path, words, line):
    assert refusal(InputError, new_model, [*words, "--folder", str(tmp_path)], OSU).startswith(line)
    assert not list(tmp_path.iterdir())
