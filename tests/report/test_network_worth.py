"""The command that would measure the gain of an application, in a study of benchmarks only."""

import pandas as pd
from small_runs import ROOT

from analysis.runs.facts import AboutStudy
from analysis.topics.network.sentences import A_CASE, worth_sentence

NO_GAIN = (
    "These benchmarks do not show what an application gains. Run a case over these "
    "interconnects to measure the gain in processes, nodes or money"
)


def test_the_command_runs_a_case_on_the_counts_of_the_study_and_on_one_process():
    runs = pd.DataFrame({"processes": [4, 2, 4]})
    study = AboutStudy(name="network", file="config/studies/network.yaml")
    assert worth_sentence(runs, study) == (
        f"{NO_GAIN} (./run-study config/studies/network.yaml --config name=network_cavity 'cases=[cavity]' "
        "'processes=[1, 2, 4]' 'exclude=[]' blocks=10)."
    )
    assert (ROOT / f"cases/openfoam/{A_CASE}/case.yaml").exists()


def test_curves_of_others_have_no_command():
    assert worth_sentence(pd.DataFrame({"processes": []}), AboutStudy(file="a.yaml")) == f"{NO_GAIN}."
