"""Sentences and columns about the factors of interconnects."""

from dataclasses import replace

from report_parts import blocks, cells, part, plain
from synthetic_study import make_runs, make_study

from analysis.presentation.labels import Labels
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.topics.asked import differences
from workflows.paths import INTERCONNECTS
from workflows.study.factors import factors, model_factors
from workflows.study.interconnects import load_interconnect

LINKS = {"mpi": "Open MPI", "link_mbps": 10000, "transport": "tcp", "mtu": 9000, "path": "switched"}
LINKS |= {"launch.mca.btl": "self,tcp"}
LABELS = Labels(Facts.of({"interconnects": {"jumbo": {"title": "Jumbo"}, "usual": {"title": "Usual"}}}))


def sentences_about(first, two, kinds=("measured", "measured"), baselines=("jumbo",)):
    factors = {"jumbo": first, "usual": two}
    of_kinds = dict(zip(factors, kinds, strict=True))
    return by_pair(differences(factors, of_kinds, baselines, LABELS))


def by_pair(lists):
    return {plain(title): [plain(item) for item in items] for title, items in lists.items()}


def test_only_differing_factors_are_named():
    assert sentences_about(LINKS, LINKS | {"mtu": 1500}) == {
        "Properties of Usual against Jumbo": ["MTU: 1500 against 9000 bytes"]
    }


def test_the_study_chooses_the_baseline():
    assert sentences_about(LINKS, LINKS | {"mtu": 1500}, baselines=["usual"]) == {
        "Properties of Jumbo against Usual": ["MTU: 9000 against 1500 bytes"]
    }


def test_factors_have_words_and_other_settings_the_key_of_the_file():
    other = LINKS | {"transport": "ud", "path": "back_to_back", "cable": "copper 5 m"}
    (items,) = sentences_about(LINKS, other | {"launch.mca.btl": "self,openib"}).values()
    assert items == [
        "Transport: unreliable datagram (UD) against TCP",
        "Cable: copper 5 m for Usual, not stated for Jumbo",
        "Path: back to back against switched",
        "launch.mca.btl: self,openib against self,tcp",
    ]


def test_settings_of_different_mpi_libraries_are_not_compared():
    other = LINKS | {"mpi": "MPICH", "launch.env.UCX_TLS": "self,tcp"}
    del other["launch.mca.btl"]
    (items,) = sentences_about(LINKS, other).values()
    assert items == [
        "MPI library: MPICH against Open MPI",
        "Launch settings: the settings of each MPI library",
    ]


def test_interconnects_of_two_kinds_are_not_compared():
    assert sentences_about(LINKS, LINKS | {"mtu": 1500}, kinds=("measured", "emulated")) == {}


def test_two_names_of_the_same_interconnect_are_reported():
    (items,) = sentences_about(LINKS, LINKS).values()
    assert items == ["The files of these interconnects state no difference"]


def test_the_report_has_a_column_for_each_factor_that_an_interconnect_has():
    runs, tables, facts = make_study(make_runs())[:3]
    names = list(dict.fromkeys(runs["interconnect"].dropna()))
    about = dict(facts.interconnects)
    for name, mtu in zip(names, (9000, 1500), strict=False):
        about[name] = replace(facts.interconnect(name), factors={"mpi": "Open MPI", "mtu": mtu})
    report = make_report(runs, tables, replace(facts, interconnects=about), [])
    tables = {table["caption"]: table for table in blocks(part(report, "asked"), "table")}
    made_of = tables["Properties of the interconnects."]
    heads = [" ".join(head["title"]) for head in made_of["columns"]]
    assert heads == ["Interconnect", "MPI library", "MTU (bytes)"]
    assert {cell for line in cells(made_of) for cell in line[2:]} == {"9000", "1500"}


def modelled(*names):
    loaded = [load_interconnect(name, INTERCONNECTS) for name in names]
    made = {interconnect.name: factors(interconnect) | model_factors(interconnect) for interconnect in loaded}
    titles = {
        interconnect.name: {"title": interconnect.title, "kind": interconnect.kind} for interconnect in loaded
    }
    kinds = dict.fromkeys(names, "simulated")
    labels = Labels(Facts.of({"interconnects": titles}))
    return by_pair(differences(made, kinds, names[:1], labels))


def test_models_that_differ_in_message_costs():
    """Both figures of the second model are half of the first's, or the fastest that was published."""
    assert modelled("gigabit_ethernet", "rdma_gigabit_ethernet") == {
        "Properties of RDMA GigE (sim) against GigE (sim)": [
            "Host bus: PCI-X 133 for RDMA GigE (sim), not stated for GigE (sim)",
            "Latency: 15.5 against 31 µs",
            "Peak bandwidth: 117.5 against 112.5 MB/s",
            "Eager limit: 8192 against 65 536 bytes",
            "Processor time per message: not stated for RDMA GigE (sim), 5.5 µs to send and 5.5 µs to receive for "
            "GigE (sim)",
        ]
    }


def test_models_differ_in_directions_protocols_and_topology():
    (items,) = modelled("quadrics_elan3", "infiniband_4x_pcix").values()
    assert "Other changes of protocol: 2 MiB against none" in items
    assert "Topology: crossbar against fat tree of down 4 × 4 × 4, up 4 × 4" in items
    assert not any("both directions share" in item for item in items)  # a bus each


def test_a_curve_that_no_study_has_measured_yet_leaves_the_rest_of_a_model(tmp_path):
    model = load_interconnect("infiniband", INTERCONNECTS)
    lost = replace(model, simulate=model.simulate | {"curve": {"file": "no.csv", "interconnect": "x"}})
    assert model_factors(model)["latency_us"] == 4.29
    assert "latency_us" not in model_factors(lost) and model_factors(lost)["eager_limit_bytes"] == 1024
    assert model_factors(load_interconnect("shared_memory", INTERCONNECTS)) == {}
