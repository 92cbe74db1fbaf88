"""Published runs on clouds, compared by nodes; the expected values were worked out from the logs by hand."""

import json

import pandas as pd
import pytest

from workflows.paths import ROOT

pytestmark = pytest.mark.slow


def tables_of(study_folder, study):
    study_folder.run_well(ROOT / f"config/studies/{study}.yaml")
    return study_folder.results(study) / "tables"


def test_systems_are_compared_by_nodes(study_folder):
    tables = tables_of(study_folder, "published_clouds")
    scaling, peaks, equivalent = (
        pd.read_csv(tables / f"{name}.csv").query("case == 'lammps_reax'")
        for name in ("scaling", "peaks", "node_equivalent")
    )
    assert {*scaling["unit"], *peaks["unit"], *equivalent["unit"]} == {"nodes"}
    own_speedup = scaling.pivot(index="interconnect", columns="nodes", values="own_speedup").round(3)
    assert own_speedup.drop("azure_cyclecloud_ucx_all").T.fillna(0).to_dict("list") == {
        "aws_eks": [1, 1.609, 2.276, 2.509],
        "aws_parallel_cluster": [1, 1.813, 2.983, 4.374],
        "azure_aks": [1, 0.489, 0, 0],
        "azure_aks_placement": [1, 1.429, 1.730, 1.797],
        "azure_cyclecloud": [1, 1.108, 2.917, 1.985],
        "google_compute_engine": [1, 1.725, 3.162, 5.025],
        "google_gke": [1, 1.571, 2.025, 0.750],
    }
    peak = peaks.set_index("interconnect")["peak_processes"]
    assert peak[["google_gke", "azure_cyclecloud", "aws_eks"]].tolist() == [128, 128, 256]
    rows = equivalent[equivalent["reversed"]].set_index(["baseline_interconnect", "baseline_processes"])
    nodes = rows["equivalent_processes"].round(1)
    assert nodes["aws_eks"].dropna().to_dict() == {64: 52.8, 128: 83.2, 256: 95.3}
    assert nodes["azure_cyclecloud"].dropna().to_dict() == {128: 73.3}
    assert nodes["azure_cyclecloud_ucx_all"].to_dict() == {256: 192.3}
    assert nodes["google_gke"].dropna().to_dict() == {64: 32.8, 128: 44.4}
    assert nodes["google_compute_engine"].dropna().to_dict() == {128: 51.9, 256: 95.8}
    report = json.dumps(json.loads((tables.parent / "report.json").read_text()), ensure_ascii=False)
    report = report.replace("\N{NO-BREAK SPACE}", " ")
    assert "ran on the same type of node: hpc6a.48xlarge. The data do not show the cause" in report
    assert "Nodes, interconnects or software may explain differences in speed" in report
    # Two points of six runs cannot show whether runs are independent, so Nodeworth assumes a correlation.
    assert (
        "Comparisons of LAMMPS (loop of 100 steps) and their intervals assume that successive runs were at "
        "most moderately " in report
    )
    assert (
        "Peaks of LAMMPS (loop of 100 steps), node equivalents and all other intervals assume independent runs"
        in report
    )
    assert "times as many blocks" not in report  # the intervals would narrow faster than 1 / sqrt(n)
    assert "count as 2.1 or more independent runs" in report
    assert "after Holm's correction is too large for a verdict" in report
    assert (
        "3 of 8 comparisons with a baseline have verdicts: faster or slower. 3 comparisons are undecided. 2 "
        in report
    )
    assert " The baselines are ParallelCluster and AKS in a placement group." in report
    # All MiniFE runs of AKS without a placement group precede those with it, by four days.
    assert "Reason for 1 undecided comparison in MiniFE (conjugate gradients only): all runs of one" in report
    # MiniFE has no verdict, so the sentence is about LAMMPS.
    assert "The imported data of LAMMPS (loop of 100 steps) have no start times" in report
    assert (
        "Nodeworth does not know whether the runs of LAMMPS (loop of 100 steps) alternated between the systems"
        in report
    )
    assert (
        "In MiniFE (conjugate gradients only), at each count, all runs of one system came before all runs of "
        "the next. The other runs therefore probably did not alternate" in report
    )
    assert "have start times" not in report
    assert "4 speedup curves are highest at their smallest counts with valid runs" in report


def test_contrasts_are_on_equal_nodes(study_folder):
    tables = tables_of(study_folder, "published_clouds_contrasts")
    improvement = pd.read_csv(tables / "improvement.csv").query("case == 'lammps_reax'")
    assert improvement.set_index("interconnect")["improvement_percent"].round(1).to_dict() == {
        "aws_eks": -45.5,
        "azure_aks_placement": -2.2,
        "azure_cyclecloud": -61.4,
    }
    assert "between systems" not in (tables.parent / "report.json").read_text()


def test_weak_cases_are_compared_by_figure_of_merit(study_folder):
    tables = tables_of(study_folder, "published_clouds_weak")
    scaling = pd.read_csv(tables / "scaling.csv")
    rates = scaling.set_index(["case", "interconnect", "nodes"])["rate"]
    # Medians of the printed figures of merit.
    assert rates["amg2023", "aws_eks", 32] == pytest.approx(668_815_600, rel=1e-6)
    assert rates["quicksilver", "aws_parallel_cluster", 256] == pytest.approx(1.673e10, rel=1e-6)
    google = scaling[scaling["interconnect"].str.startswith("google")]
    assert set(google["case"]) == {"amg2023_google", "quicksilver_google"}
