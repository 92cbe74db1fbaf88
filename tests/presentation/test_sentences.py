"""Plain sentences from hand-made tables."""

import pandas as pd

from analysis.curves.outcomes import MEDIANS_DISAGREE
from analysis.pipeline import TABLE_SCHEMAS
from analysis.presentation import sentences as sentences
from analysis.presentation.labels import Labels
from analysis.runs.columns import validated
from analysis.runs.facts import Facts

LABELS = Labels(
    Facts.of(
        {
            "interconnects": {
                "slow": {"title": "Gigabit Ethernet", "kind": "emulated"},
                "swift": {"title": "InfiniBand", "kind": "measured"},
                "other": {"title": "Myrinet", "kind": "measured"},
            },
            "study": {"compare_kinds": [["measured", "emulated"]]},
        }
    )
)


def table(name, *rows):
    """Table of the contract with the given columns, all others empty (False for flags)."""
    schema = TABLE_SCHEMAS[name]
    flags = {column: False for column, kind in schema.columns.items() if str(kind.dtype) == "bool"}
    return validated(schema, pd.DataFrame([flags | row for row in rows]))


def plain(texts):
    return [text.replace("\u202f", " ").replace("\u00a0", " ") for text in texts]


def point(interconnect, processes, seconds, low=None, high=None, kind="measured", **more):
    row = {"case": "duct", "interconnect": interconnect, "kind": kind, "oversubscription": 1}
    row |= {"processes": processes, "cores": processes}
    row |= {"seconds": seconds, "seconds_low": low, "seconds_high": high}
    return row | {"reference_seconds": 12.0, "reference_processes": 1} | more


def peak(interconnect, at, speedup, peak_set, reached, **more):
    row = {"case": "duct", "interconnect": interconnect, "kind": "measured", "oversubscription": 1}
    row |= {"peak_processes": at, "peak_speedup": speedup, "peak_set": peak_set, "reached": reached}
    return row | more


def comparison(interconnect, percent, low=None, high=None, p=None, verdict=None, **more):
    row = {"case": "duct", "baseline_interconnect": "slow", "interconnect": interconnect}
    row |= {"kind": "emulated/measured", "oversubscription": 1, "paired": True}
    row |= {
        "at_processes": 8,
        "at_processes_other": more.get("at_processes", 8),
        "baseline_peak_processes": 8,
    }
    row |= {"improvement_percent": percent, "improvement_low": low, "improvement_high": high}
    return row | {"p_adjusted": p, "verdict": verdict} | more


class TestReference:
    def test_the_serial_run_with_its_time(self):
        printed, of_sites = sentences.reference_sentences(table("scaling", point("swift", 8, 2.0)), LABELS)
        assert plain(printed) == ["Speedup is relative to the serial run of 12.0 s."]
        assert not of_sites

    def test_without_serial_run_the_reference_is_named(self):
        row = point("swift", 8, 2.0, reference_interconnect="swift", reference_processes=2)
        assert plain(sentences.reference_sentences(table("scaling", row), LABELS)[0]) == [
            "Speedup is relative to InfiniBand with 2 processes. The time of this reference is 12.0 s. No serial "
            "time is known."
        ]

    def test_each_site_has_a_reference(self):
        rows = [
            point("swift", 8, 2.0, site=site, reference_interconnect=name, reference_processes=2)
            for site, name in (("x", "swift"), ("y", "other"))
        ]
        printed, of_sites = sentences.reference_sentences(table("scaling", *rows), LABELS)
        assert plain(printed) == [
            "If a site has no serial run, speedup is relative to the site's run with the fewest processes."
        ]
        assert plain(of_sites) == [
            "The run over InfiniBand with 2 processes takes 12.0 s.",
            "The run over Myrinet with 2 processes takes 12.0 s.",
        ]

    def test_kinds_with_references_of_their_own(self):
        rows = [point("swift", 8, 2.0), point("slow", 8, 3.0, kind="simulated", reference_seconds=10.0)]
        assert plain(sentences.reference_sentences(table("scaling", *rows), LABELS)[0]) == [
            "Speedup of measured runs is relative to the serial run of 12.0 s.",
            "Speedup of simulated runs is relative to the simulated serial run of 10.0 s.",
        ]


class TestImprovement:
    def test_medians_of_opposite_sign_are_reported(self):
        row = comparison("swift", 23.0, 18.0, 29.0, 0.03, "faster", note=MEDIANS_DISAGREE)
        rows = table("improvement", row, comparison("other", 20.0, 18.0, 29.0, 0.03, "faster"))
        assert sentences.disagreeing(rows)["interconnect"].tolist() == ["swift"]
        assert plain(sentences.disagreement_sentences(rows, LABELS)) == [
            "The comparison of InfiniBand at 8 processes has the opposite sign to the medians of all runs. A "
            "comparison uses ratios of runs. Speedups and node equivalents use medians."
        ]

    def test_too_few_blocks_for_any_test(self):
        six = {"blocks": 6, "blocks_needed": 8, "verdict": "untestable with 6 blocks"}
        rows = [comparison(name, 9.0, p=0.5, **six) for name in ("swift", "other")]
        assert plain(sentences.blocks_sentences(table("improvement", *rows), "improvements")) == [
            "Both tests of improvements have only 6 blocks (repetitions), too few for a verdict. After "
            "Holm's correction for several tests, a verdict may need at least 8 blocks."
        ]
        rows[0] |= {"blocks": 9, "verdict": "not distinguishable"}
        assert plain(sentences.blocks_sentences(table("improvement", *rows), "improvements")) == [
            "1 of 2 tests of improvements has only 6 blocks (repetitions), too few for a verdict. After "
            "Holm's correction for several tests, a verdict may need at least 8 blocks."
        ]
        assert sentences.blocks_sentences(table("improvement", rows[0]), "improvements") == []
        assert sentences.blocks_sentences(table("improvement"), "improvements") == []


def test_a_unique_name_is_cut_at_its_comma():
    def named(*titles):
        facts = Facts.of({"interconnects": {f"n{i}": {"title": title} for i, title in enumerate(titles)}})
        return [Labels(facts).interconnect(f"n{i}", "simulated") for i in range(len(titles))]

    assert named("Myrinet, single port, MPI", "InfiniBand (RDMA, 2003)") == [
        "Myrinet (sim)",
        "InfiniBand (RDMA, 2003, sim)",
    ]
    assert named("n1, latency x1000", "InfiniBand")[0] == "n1, latency x1000 (sim)"  # n1 is InfiniBand
    both = named("Gigabit Ethernet (emulated)", "Gigabit Ethernet, 30 µs")
    assert both == ["GigE (emulated, sim)", "GigE, 30 µs (sim)"]
    full = Labels(Facts.of({"interconnects": {"a": {"title": "Myrinet, single port"}}}), full=True)
    assert full.interconnect("a", "simulated") == "Myrinet, single port (simulated)"
