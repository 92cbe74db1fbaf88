"""Pages of a report on network benchmarks, traffic patterns and route load."""

from dataclasses import replace

import pandas as pd
import pytest
from pypdf import PdfReader
from report_files import print_study
from report_parts import blocks, part, plain, sentences_of
from runs_with_details import network_of, traffic_of
from small_runs import ROOT
from synthetic_study import make_runs, make_study

from analysis.importers import CURVES, read_foreign, read_published
from analysis.pipeline import draw_figures
from analysis.presentation.labels import Labels
from analysis.report import make_report
from analysis.runs.facts import Facts, LeftOut
from analysis.runs.runs import complete_runs
from analysis.topics.congestion.tables import make_congestion_tables
from analysis.topics.network.curves import network_table
from analysis.topics.network.imports import imported_network
from analysis.topics.network.links import make_links
from analysis.topics.network.sentences import network_figures, network_title
from analysis.topics.network.tables import make_network_tables
from analysis.topics.traffic.tables import make_traffic_tables
from workflows.study.congestion import requested_flows, requested_topologies

PUBLISHED = ROOT / "analysis/published"
RATES = {"gigabit": (30.0, 120.0), "loopback": (5.0, 4000.0), "shared_memory": (0.4, 12000.0)}
"""Microseconds of an empty message and 10^6 bytes per second."""
KINDS = {"gigabit": "emulated", "loopback": "measured", "shared_memory": "measured"}
SIZES = [0, *(1 << power for power in range(0, 23, 2))]
CONGESTION = {
    "topologies": {"4-ary 3-tree": {"k_ary_n_tree": [4, 3]}},
    "patterns": ["complement", "transpose", "uniform"],
    "matrices": ["transpose"],
    "published": "4-ary 3-tree",
}


def row(seconds, size, moved, **labels):
    names = ("p5", "p25", "p50", "p75", "p95", "lowest_rank", "highest_rank")
    times = {f"seconds_{name}": seconds for name in names}
    return {"bytes": size, "n": 10, "moved_bytes": moved, "busy_share": 1.0, **times, **labels}


def sweep(name, **labels):
    latency, rate = RATES[name]
    return [row(1e-6 * (latency + size / rate), size, size, **labels) for size in SIZES]


def details_of_benchmark(case, name):
    """Details printed by a program: curves, pairs, parts of an exchange, or traffic."""
    latency = 1e-6 * RATES[name][0]
    if case == "pair_matrix":
        slow = {(0, 3): 3.0}
        pairs = [(source, other) for source in range(4) for other in range(source + 1, 4)]
        return [
            row(latency * slow.get(pair, 1.0) * size, size, size, source=pair[0], target=pair[1])
            for pair in pairs
            for size in (8, 1 << 20)
        ]
    if case == "simultaneous_pairs":
        return [line for pairs in (1, 2) for line in sweep(name, pairs=pairs)]
    if case == "availability":
        parts = {"exchange": 1.0, "work": 2.0, "exchange_and_work": 2.4}
        return [
            row(share * latency * (1 + size), size, 2 * size, part=part)
            for part, share in parts.items()
            for size in SIZES
        ]
    if case == "after_work":
        return [row((1 + us / 64) * latency, 0, 0, part=f"after_{us}_us") for us in (0, 64)]
    if case == "barrier":
        return [row(latency, None, None)]
    return sweep(name)


CASES = dict.fromkeys(("allreduce", "barrier", "pair_matrix", "simultaneous_pairs"), 4)
CASES |= {"pingpong": 2, "availability": 2, "after_work": 2}


def traffic_rows(name):
    share = {"gigabit": 0.5, "loopback": 0.8, "shared_memory": 1.0}[name]
    common = {"link_MBps": 100.0, "fairness": 0.9, "clients": 64, "targets": 64, "process": list(range(64))}
    rows = []
    for load in (0.5, 1.2):
        accepted = min(load, share)
        rates = {"accepted_load": accepted, "accepted_MBps": 100 * accepted}
        rates["process_MBps"] = [rates["accepted_MBps"]] * 64
        rows.append({"pattern": "transpose", "job": "compute", "offered_load": load, "beside_load": None}
                    | common | rates)  # fmt: skip
    for mapping, slowdown in (("clustered_io", 1.1), ("distributed", 1.4)):
        rows.append({"pattern": "combined", "job": "compute", "offered_load": 1.2, "beside_load": 0.3,
                     "io_mapping": mapping, "accepted_load": share, "slowdown": slowdown,
                     "process_MBps": [1.0] * 64} | common)  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def network_study():
    """A study of benchmarks alone, with published curves and figures, traffic and route load."""
    points = [(case, name, count) for case, count in CASES.items() for name in RATES]
    points += [("transpose", name, 64) for name in RATES] + [("allreduce", None, 1)]
    runs = pd.DataFrame(
        [
            {"study": "net", "case": case, "application": "mpi4py", "interconnect": name, "kind": KINDS.get(name, "measured"),
             "nodes": 1, "processes": count, "cores": 2, "oversubscription": max(count // 2, 1), "block": block,
             "repetition": block, "attempt": 1, "seconds": 1e-5, "valid": True, "reason": None, "noise": 0.1,
             "started": f"2026-01-01T0{block}:00:{place:02d}+00:00", "record": f"{place}-{block}.json"}
            for block in (1, 2)
            for place, (case, name, count) in enumerate(points)
        ]
    )  # fmt: skip
    runs = complete_runs(runs)
    details = [
        {"rows": traffic_rows(run["interconnect"]) if run["case"] == "transpose" else details_of_benchmark(run["case"], "shared_memory" if run["processes"] == 1 else run["interconnect"])}
        for run in runs.to_dict("records")
    ]  # fmt: skip
    _, tables, facts = make_study(make_runs(blocks=1, cases=("elbow",)))
    tables = {name: table.iloc[:0] for name, table in tables.items()}
    published = read_published(PUBLISHED)
    imported = imported_network(read_foreign(PUBLISHED / "pmb.csv").curves)
    network = pd.concat([network_table(*network_of(runs, details)), imported], ignore_index=True)
    tables |= make_network_tables(network, {"gigabit": 125.0})
    tables |= {"network_links": make_links(published)} | make_traffic_tables(*traffic_of(runs, details))
    topologies = requested_topologies(CONGESTION, "study")
    flows = requested_flows(CONGESTION, topologies, "study")
    tables |= make_congestion_tables(topologies, flows, CONGESTION["matrices"])
    left = [LeftOut("interconnect shared_memory", "there is no such device here")]
    facts = replace(facts, cases={}, study_keys={"name": "network", "congestion": CONGESTION}, left_out=left)
    return runs, tables, facts, published


@pytest.fixture(scope="module")
def pages(network_study):
    runs, tables, facts, published = network_study
    drawings = draw_figures(runs, tables, facts)
    report = make_report(runs, tables, facts, [drawing.entry() for drawing in drawings], published)
    return {drawing.name: drawing for drawing in drawings}, report


def test_a_study_of_benchmarks_has_no_speedups(pages):
    names = [section["id"] for section in pages[1]["sections"]]
    of_network = ["network", "network-pairs", "network-processor", "network-collectives"]
    assert names[:7] == ["answer", "words", *of_network, "traffic"]
    assert not {"peaks", "method", "improvement"} & set(names)


def test_a_study_of_traffic_alone_has_a_figure_on_page_one(network_study):
    runs, tables, facts, _ = network_study
    runs = runs[runs["case"] == "transpose"]
    tables = {
        name: table if name.startswith("traffic") else table.iloc[:0]
        for name, table in tables.items()
        if not name.startswith("network")
    }
    drawings = draw_figures(runs, tables, facts)
    answer = part(make_report(runs, tables, facts, [drawing.entry() for drawing in drawings]), "answer")
    assert list(blocks(answer, "figure"))
    assert "How sure" in str(answer) and "no results" not in str(answer)


def test_a_page_with_filters_knows_the_benchmarks(pages, network_study):
    """What belongs to a case that has no box to tick would be hidden."""
    assert {case["name"] for case in pages[1]["cases"]} == set(network_study[0]["case"])


def test_headline_sentences_are_grouped_by_kind(pages):
    text = sentences_of(part(pages[1], "words"))
    assert (
        "Ping-pong, measured: Shared memory has the lowest latency at 0 bytes: 0.400 µs (0.400 from run to run). "
        in text
    )
    assert (
        "Ping-pong, emulated: GigE (emu) has the lowest latency at 0 bytes: 30.0 µs (30.0 from run to run). "
        in text
    )
    highest = "InfiniBand 4x PCIe (pub) has the highest bandwidth: 958 MB/s at 4 MiB"
    assert f"Quadrics Elan4 (pub) has the lowest latency at 0 bytes: 2.10 µs. {highest}" in text
    absent = "Shared memory was not available: there is no such device here."
    assert absent in sentences_of(part(pages[1], "network"))


def heads_of(*rows):
    names = ["interconnect", "kind", "latency_us", "peak_MBps", "peak_bytes"]
    return pd.DataFrame([{**dict(zip(names, row, strict=True)), "benchmark": "pingpong"} for row in rows])


def curve_of_runs(interconnect, size, median, low, high):
    labels = {"interconnect": interconnect, "kind": "measured", "benchmark": "pingpong"}
    ends = {"latency_us": median, "latency_us_lowest_run": low, "latency_us_highest_run": high}
    return {**labels, **ends, "bytes": size, "runs": 5}


def test_two_interconnects_have_latency_and_bandwidth_with_the_range_of_their_runs():
    """1 MiB in 1000 µs is 1049 MB/s; in 800 and 1250 µs, 1311 and 839 MB/s."""
    heads = heads_of(("a", "measured", 2.0, 1048.576, 2**20), ("b", "measured", 30.0, 100.0, 2**20))
    network = pd.DataFrame(
        [curve_of_runs("a", 0, 2.0, 1.8, 2.5), curve_of_runs("a", 2**20, 1000.0, 800.0, 1250.0)]
    )
    labels = Labels(Facts(), given="without kind")
    figures = network_figures(heads, network, labels)
    assert [plain(figure["label"]) for figure in figures] == ["Latency at 0 bytes", "Bandwidth at 1 MiB"] * 2
    shown = [(plain(figure["value"]), figure["interval"], figure["note"]) for figure in figures]
    assert shown == [
        ("2.00 µs", "[1.80, 2.50]", "a, lowest to highest run"),
        ("1049 MB/s", "[839, 1311]", "a, lowest to highest run"),
        ("30.0 µs", "", "b"),
        ("100 MB/s", "", "b"),
    ]
    assert network_title(heads, labels) == "a has the lowest latency and the highest bandwidth"


def test_more_interconnects_have_one_figure_each_and_kinds_are_not_compared():
    rows = [
        ("a", "published", 1.0, 50.0, 4096),
        ("b", "measured", 3.0, 20.0, 4096),
        ("c", "measured", 2.0, 10.0, 1),
    ]
    network, labels = (
        pd.DataFrame([curve_of_runs("z", 0, 1.0, 1.0, 1.0)]),
        Labels(Facts(), given="without kind"),
    )
    figures = network_figures(heads_of(*rows), network, labels)
    assert [plain(figure["note"]) for figure in figures] == [
        "c, 10.0 MB/s at 1 B", "b, 20.0 MB/s at 4 KiB", "a, 50.0 MB/s at 4 KiB",
    ]  # fmt: skip
    assert network_title(heads_of(*rows), labels) == ""
    assert network_title(heads_of(*rows[1:]), labels) == "c has the lowest latency, b the highest bandwidth"


def test_the_answer_ends_with_the_limits_of_benchmarks(network_study):
    report = make_report(*network_study[:3], [])
    (figures,) = blocks(part(report, "answer"), "key_figures")
    assert len(figures["key_figures"]) == 4
    items = [item for block in blocks(part(report, "words"), "list") for item in block["items"]]
    assert len(items) == 5
    assert items[-1].startswith(
        "These benchmarks do not show what an application gains. Run a case over these"
    )


def test_published_and_measured_curves_share_a_figure_and_are_distinguished(pages):
    drawing = pages[0]["network-pingpong"]
    legend = drawing.figure.legends[0]
    handles = zip(legend.get_texts(), legend.legend_handles, strict=True)
    entries = {text.get_text(): handle for text, handle in handles}
    names = ("Shared memory", "GigE (emu)", "Quadrics Elan4 (pub)")
    assert len({entries[name].get_linestyle() for name in names}) >= 2
    # A line a curve and panel, six interconnects in two panels; none joins a measured with a published one.
    lines = [line for axes in drawing.figure.axes for line in axes.lines if len(line.get_xdata()) > 1]
    assert len(lines) == 12


def test_the_headline_table_has_every_curve_and_the_share_of_the_link(pages):
    tables = blocks(part(pages[1], "network"), "table")
    table = next(block for block in tables if block["caption"].startswith("Key numbers"))
    rows = {group["title"]: [line["cells"] for line in group["rows"]] for group in table["groups"]}
    gigabit = next(cells for cells in rows["Ping-pong, 2\u00a0processes"] if cells[0].startswith("GigE"))
    assert gigabit[4] == "96"  # 4 MiB in 30 µs + 4 MiB / 120 MB/s, of 125 MB/s
    assert len(rows["Ping-pong, 2\u00a0processes, imported"]) == 3


def test_every_figure_is_in_the_report(pages):
    shown = {block["name"] for section in pages[1]["sections"] for block in blocks(section, "figure")}
    assert shown == set(pages[0])


def test_imported_collectives_of_all_process_counts_are_shown(network_study):
    runs, tables, facts, _ = network_study
    measurements = [
        {"interconnect": "theirs", "kind": "published", "benchmark": "imb_allreduce", "processes": count,
         "bytes": 8, "latency_us": float(count), "record": "a.txt: line 1"}
        for count in (2, 4, 8)
    ]  # fmt: skip
    imported = imported_network(
        CURVES.validate(pd.DataFrame(measurements).reindex(columns=list(CURVES.columns)))
    )
    both = pd.concat([tables["network"], imported], ignore_index=True)
    section = part(make_report(runs, tables | {"network": both}, facts, []), "network-collectives")
    all_groups = [group for block in blocks(section, "table") for group in block["groups"]]
    groups = {plain(group["title"]): group["rows"] for group in all_groups}
    assert {f"Allreduce, {count} processes, imported" for count in (2, 4, 8)} <= set(groups)
    assert groups["Allreduce, 8 processes, imported"][0]["cells"][:1] == ["theirs (pub)"]


def test_the_slow_pair_is_named(pages):
    text = sentences_of(part(pages[1], "network-pairs"))
    assert "1 of 6 pairs take more than 1.5 times the median" in text and "0 and 3" in text
    assert {"network-pairs-8", "network-pairs-1048576", "network-at_once"} <= set(pages[0])


def test_processor_shares_are_in_percent(pages):
    availability, after_work = blocks(part(pages[1], "network-processor"), "table")
    assert "60" in [line["cells"][-1] for group in availability["groups"] for line in group["rows"]]
    for cells in [line["cells"] for group in after_work["groups"] for line in group["rows"]]:
        work, round_trip, longer = cells[-3:]
        assert work == "64" and float(round_trip) == pytest.approx(2 * float(longer), rel=0.01)


def test_an_impossible_processor_share_names_only_its_side(network_study):
    """Of a busy machine the report printed -184,901 %."""
    runs, tables, facts, _ = network_study
    shares = tables["network_availability"]
    first = shares["interconnect"] == shares["interconnect"].iloc[0]
    odd = shares.assign(availability=first.map({True: -1849.01, False: 1.2}))
    report = make_report(runs, {**tables, "network_availability": odd}, facts, [])
    table, _ = blocks(part(report, "network-processor"), "table")
    cells = [line["cells"][-1] for group in table["groups"] for line in group["rows"]]
    assert set(cells) == {"< 0", "> 100"}
    assert "below 0 or above 100 if other programs" in table["caption"]


def test_collectives_have_a_table_by_size_and_process_count(pages):
    section = part(pages[1], "network-collectives")
    titles = [plain(group["title"]) for table in blocks(section, "table") for group in table["groups"]]
    assert titles == [f"{name}, 4 processes, oversubscription 2" for name in ("Allreduce", "Barrier")]


def test_traffic_sentences_name_best_least_and_slowdown(pages):
    section = part(pages[1], "traffic")
    text = sentences_of(section)
    most = "the accepted load is highest with transpose: 1.0 (1.0 from run to run) of an offered load of 1.2"
    assert f"Shared memory, 64 processes: {most}" in text
    largest = (
        "is largest with I/O nodes distributed at an I/O load of 0.300: 1.40 times, the median of 2 runs"
    )
    assert largest in text
    names = [block["name"] for block in blocks(section, "figure")]
    assert names == ["traffic-load-64", "traffic-processes", "traffic-slowdown", "traffic-map"]


def test_bounds_stand_next_to_measured_and_published_values(pages):
    section = part(pages[1], "congestion")
    (table,) = blocks(section, "table")
    cells = {line["cells"][0]: line["cells"] for line in table["groups"][0]["rows"]}
    assert cells["transpose"][2:4] == ["0.250 (1.00)", "no (yes)"]
    assert "0.80 TCP loopback" in cells["transpose"][4]
    assert cells["transpose"][5] == "165 (lowest) to 200 (highest)" and cells["complement"][5] == "280"
    assert "No waiting time was measured" in blocks(section, "figure")[0]["caption"]
    assert "complement is free of conflict" in sentences_of(section)


def test_published_links_are_compared(pages):
    section = part(pages[1], "network-published")
    assert (
        "QDR, fiber, verbs against QDR, fiber, IPoIB: the bandwidth in both directions is 55 against 32 Gbit/s"
        in sentences_of(section)
    )
    assert len(blocks(section, "table")) == 4


def test_benchmarks_with_an_application_stay_out_of_its_estimates(network_study):
    runs, tables, facts = make_study(make_runs(blocks=2, cases=("elbow",)))
    network = {name: table for name, table in network_study[1].items() if name.startswith("network")}
    peaks = tables["peaks"]
    mixed = pd.concat([peaks, peaks.assign(case="pingpong")], ignore_index=True)
    report = make_report(runs, {**tables, **network, "peaks": mixed}, facts, [])
    text = str(list(blocks(part(report, "answer"), "table")))
    assert "Duct elbow" in text and "pingpong" not in text
    assert part(report, "network") and part(report, "case-1")


@pytest.mark.slow
def test_it_prints(network_study, tmp_path):
    runs, tables, facts, published = network_study
    folder = print_study(tmp_path, runs, tables, facts, published)
    text = "".join(page.extract_text() for page in PdfReader(folder / "report.pdf").pages)
    assert "Latency and bandwidth of the interconnects" in text and "Route load and congestion" in text
    assert (folder / "report.html").read_text().count("<svg") == len(list((folder / "figures").glob("*.svg")))
