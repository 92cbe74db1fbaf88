"""Plain sentences from hand-made tables."""

import pandas as pd
import pytest
from synthetic_study import make_runs, make_study

from analysis.estimates.fastest import FASTEST
from analysis.estimates.outcomes import MEDIANS_DISAGREE
from analysis.runs.facts import Facts
from analysis.tables.contract import TABLES, validated
from analysis.text import scaling as sentences
from analysis.text.labels import Labels

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
    schema = TABLES[name]
    flags = {column: False for column, kind in schema.columns.items() if str(kind.dtype) == "bool"}
    return schema.validate(pd.DataFrame([flags | row for row in rows], columns=list(schema.columns)))


def plain(texts):
    return [text.replace("\u202f", " ").replace("\u00a0", " ") for text in texts]


def point(interconnect, processes, seconds, low=None, high=None, kind="measured", **more):
    row = {"case": "duct", "interconnect": interconnect, "kind": kind, "oversubscription": 1}
    row |= {"processes": processes, "cores": processes}
    row |= {"seconds": seconds, "seconds_low": low, "seconds_high": high}
    return row | {"reference_seconds": 12.0, "reference_processes": 1} | more


def peak(interconnect, at, speedup, alike, reached, **more):
    row = {"case": "duct", "interconnect": interconnect, "kind": "measured", "oversubscription": 1}
    row |= {"peak_processes": at, "peak_speedup": speedup, "peak_set": alike, "reached": reached}
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


TIMES = {("swift", 8): 2.0, ("swift", 16): 1.5, ("other", 8): 2.2, ("other", 16): 1.8}
SCALING = table("scaling", *(point(*place, seconds) for place, seconds in TIMES.items()))


class TestReference:
    def test_the_serial_run_with_its_time(self):
        said = sentences.reference_sentences(table("scaling", point("swift", 8, 2.0)), LABELS)
        assert plain(said) == ["Speedup refers to the serial run, 12.0 s."]

    def test_without_serial_run_the_reference_is_named(self):
        row = point("swift", 8, 2.0, reference_interconnect="swift", reference_processes=2)
        assert plain(sentences.reference_sentences(table("scaling", row), LABELS)) == [
            "Speedup refers to the run of 2 processes over InfiniBand, 12.0 s, since there is no serial run."
        ]

    def test_kinds_with_references_of_their_own(self):
        rows = [point("swift", 8, 2.0), point("slow", 8, 3.0, kind="simulated", reference_seconds=10.0)]
        assert plain(sentences.reference_sentences(table("scaling", *rows), LABELS)) == [
            "Speedup of measured runs refers to the serial run, 12.0 s.",
            "Speedup of simulated runs refers to the serial run, 10.0 s.",
        ]


class TestPeaks:
    def test_a_peak_with_counts_that_cannot_be_told_apart(self):
        row = peak("swift", 8, 6.0, "4 8", True, peak_speedup_low=5.8, peak_speedup_high=6.2)
        assert plain(sentences.peak_sentences(table("peaks", row), SCALING, LABELS)) == [
            "Speedup peaks at 8 processes over InfiniBand (6.00 [5.80, 6.20]); 4 and 8 processes cannot be told apart."
        ]

    def test_a_peak_that_is_not_reached(self):
        said = sentences.peak_sentences(table("peaks", peak("swift", 16, 8.0, "16", False)), SCALING, LABELS)
        assert plain(said) == [
            "Speedup is highest at 16 processes over InfiniBand (8.00), the most that was run: no peak is reached."
        ]

    def test_a_peak_that_may_lie_beyond(self):
        said = sentences.peak_sentences(table("peaks", peak("swift", 8, 6.0, "8 16", False)), SCALING, LABELS)
        assert plain(said) == [
            "Speedup is highest at 8 processes over InfiniBand (6.00); 8 and 16 processes cannot be told apart: "
            "the peak may lie beyond."
        ]

    def test_a_curve_of_one_count_has_no_peak(self):
        scaling = table("scaling", point("swift", 4, 2.0))
        said = sentences.peak_sentences(table("peaks", peak("swift", 4, 1.0, None, False)), scaling, LABELS)
        assert plain(said) == ["Speedup is known at 4 processes alone, over InfiniBand (1.00)."]

    def test_one_sample_has_an_empty_set(self):
        row = peak("swift", 8, 6.0, None, True, note="one sample")
        assert plain(sentences.peak_sentences(table("peaks", row), SCALING, LABELS)) == [
            "Speedup peaks at 8 processes over InfiniBand (6.00) (one sample)."
        ]

    def test_interconnects_that_peak_alike_share_a_sentence(self):
        rows = [peak("other", 16, 7.0, "16", False), peak("swift", 16, 8.0, "16", False)]
        (said,) = sentences.peak_sentences(table("peaks", *rows), SCALING, LABELS)
        assert "over InfiniBand (8.00) and Myrinet (7.00)" in said

    def test_no_speedup_at_all(self):
        row = peak("swift", 1, 1.0, "1", True, peak_speedup_low=1.0, peak_speedup_high=1.0)
        assert plain(sentences.peak_sentences(table("peaks", row), SCALING, LABELS)) == [
            "Speedup peaks at 1 process over InfiniBand: more bring nothing."
        ]

    def test_levels_are_named_where_there_are_several(self):
        rows = [peak("swift", 8, 6.0, "8", True), peak("swift", 16, 5.0, "16", True, oversubscription=2)]
        levels = [point("swift", count, 2.0, oversubscription=level) for level in (1, 2) for count in (8, 16)]
        scaling = table("scaling", *levels)
        said = sentences.peak_sentences(table("peaks", *rows), scaling, LABELS)
        assert said[0].startswith("At oversubscription 1, speedup peaks")
        assert said[1].startswith("At oversubscription 2, speedup peaks")

    def test_an_empty_table_says_nothing(self):
        assert sentences.peak_sentences(table("peaks"), table("scaling"), LABELS) == []


def competing(place, interconnect, processes, seconds, may_be=None, kinds="measured", kind="measured"):
    row = {"case": "duct", "interconnect": interconnect, "kind": kind, "oversubscription": 1}
    row |= {"processes": processes, "compared_kinds": kinds, "seconds": seconds, "place": place}
    return row | {"may_be_fastest": may_be}


def fastest(*rows):
    return sentences.fastest_sentences(validated(FASTEST["fastest"], pd.DataFrame(rows)), LABELS)


class TestFastest:
    def test_those_that_cannot_be_told_apart_are_said(self):
        rows = [competing(1, "swift", 8, 2.0, True), competing(2, "other", 8, 2.05, True)]
        rows += [competing(1, "other", 16, 1.0, True), competing(2, "swift", 16, 2.0, False)]
        assert plain(fastest(*rows)) == [
            "Fastest: InfiniBand at 8 processes (Myrinet cannot be told apart from it); Myrinet at 16 processes."
        ]

    def test_equal_times_are_both_named(self):
        rows = [competing(1, "other", 8, 2.0, True), competing(2, "swift", 8, 2.0, True)]
        assert plain(fastest(*rows)) == ["Fastest: Myrinet and InfiniBand, equal, at 8 processes."]

    def test_kinds_that_may_not_be_compared_have_sentences_of_their_own(self):
        rows = [
            competing(place, name, 8, 2.0 + place, True, kind, kind)
            for kind in ("measured", "simulated")
            for place, name in ((1, "swift"), (2, "other"))
        ]
        assert [one.split(":")[0] for one in plain(fastest(*rows))] == [
            "Fastest of the measured interconnects",
            "Fastest of the simulated interconnects",
        ]

    def test_times_without_a_test_are_said(self):
        (said,) = fastest(competing(1, "swift", 8, 2.0), competing(2, "other", 8, 2.05))
        assert plain([said]) == ["Fastest (by the medians; not all are tested): InfiniBand at 8 processes."]


class TestImprovement:
    def test_every_outcome_in_its_sentence(self):
        rows = [
            comparison("swift", 23.4, 18.0, 29.0, 0.031, "faster"),
            comparison("other", -5.04, -8.0, -2.0, 0.031, "slower"),
        ]
        assert plain(sentences.improvement_sentences(table("improvement", *rows), LABELS)) == [
            "At 8 processes, where Gigabit Ethernet (emulated) peaks, InfiniBand (+23 % [+18, +29], p = 0.031) is "
            "faster than it.",
            "At 8 processes, where Gigabit Ethernet (emulated) peaks, Myrinet (−5.0 % [−8.0, −2.0], p = 0.031) is "
            "slower than it.",
        ]

    def test_not_distinguishable_is_printed_so(self):
        alike = "not distinguishable"
        rows = [
            comparison("swift", 3.0, -1.0, 7.0, 0.4, alike),
            comparison("other", 1.0, -2.0, 4.0, 1.0, alike),
        ]
        (said,) = plain(sentences.improvement_sentences(table("improvement", *rows), LABELS))
        assert said.endswith(
            "InfiniBand (+3.0 % [−1.0, +7.0], p = 0.40) and Myrinet (+1.0 % [−2.0, +4.0], p = 1.00) are not "
            "distinguishable from it."
        )

    @pytest.mark.parametrize(
        ("verdict", "said"),
        [
            ("faster (one figure each, untested)", "is faster than it, one figure each, untested."),
            ("faster over the whole band", "is faster than it, over the whole band."),
            ("faster or slower within the band", "is faster or slower than it, within the band."),
            ("untestable with 6 blocks", "is untestable with 6 blocks."),
        ],
    )
    def test_what_is_not_tested_says_so(self, verdict, said):
        row = comparison("swift", 23.0, verdict=verdict)
        (found,) = plain(sentences.improvement_sentences(table("improvement", row), LABELS))
        assert found == f"At 8 processes, where Gigabit Ethernet (emulated) peaks, InfiniBand (+23 %) {said}"

    def test_two_counts_are_told(self):
        row = comparison(
            "swift", 23.0, verdict="faster (untested)", at_processes=60, baseline_peak_processes=60
        )
        row["at_processes_other"] = 64
        (found,) = plain(sentences.improvement_sentences(table("improvement", row), LABELS))
        assert found.startswith("At 64 processes against 60 of Gigabit Ethernet (emulated), where Gigabit")

    def test_medians_that_say_the_opposite_are_told(self):
        row = comparison("swift", 23.0, 18.0, 29.0, 0.03, "faster", note=MEDIANS_DISAGREE)
        rows = table("improvement", row, comparison("other", 20.0, 18.0, 29.0, 0.03, "faster"))
        assert sentences.disagreeing(rows)["interconnect"].tolist() == ["swift"]
        (said,) = plain(sentences.disagreement_sentences(rows, LABELS))
        assert said.startswith("InfiniBand at 8 processes: block by block the comparison has another sign")

    def test_unpaired_is_said(self):
        row = comparison("swift", 23.0, 18.0, 29.0, 0.03, "faster", paired=False)
        (said,) = sentences.improvement_sentences(table("improvement", row), LABELS)
        assert "p\u202f=\u202f0.030, unpaired)" in said

    def test_a_peak_that_is_no_common_count(self):
        row = comparison("swift", 23.0, 18.0, 29.0, 0.03, "faster", at_processes=6)
        (said,) = plain(sentences.improvement_sentences(table("improvement", row), LABELS))
        assert said.startswith("At 6 processes, the nearest common count below the peak of Gigabit Ethernet")

    def test_no_common_count(self):
        row = comparison("swift", None, at_processes=None, note="no common process count")
        (said,) = plain(sentences.improvement_sentences(table("improvement", row), LABELS))
        assert said == "InfiniBand: no process count up to the peak of Gigabit Ethernet (emulated) was run."

    def test_no_baseline(self):
        (said,) = sentences.improvement_sentences(table("improvement"), LABELS)
        assert said.startswith("There is no comparison")

    def test_a_baseline_that_is_fastest_serially(self):
        row = comparison("swift", 23.0, 18.0, 29.0, 0.03, "faster", baseline_peak_processes=1)
        (said,) = plain(sentences.improvement_sentences(table("improvement", row), LABELS))
        assert said.startswith(
            "At 8 processes, the other's best count, as Gigabit Ethernet (emulated) is fastest on one process, "
            "InfiniBand (+23 %"
        )

    def test_over_all_cases(self):
        rows = [
            comparison("swift", 23.0, 18.0, 29.0, 0.03, "faster"),
            comparison("swift", 84.0, 80.0, 90.0, 0.03, "faster", case="wing"),
            comparison("swift", 1.0, -1.0, 3.0, 0.7, "not distinguishable", case="car"),
        ]
        assert plain(sentences.headline_sentences(table("improvement", *rows), LABELS)) == [
            "InfiniBand against Gigabit Ethernet (emulated): faster in 2 cases (+23 % [+18, +29] to +84 % "
            "[+80, +90]) and not distinguishable in 1 case (+1.0 % [−1.0, +3.0])."
        ]
        assert sentences.headline_sentences(table("improvement"), LABELS) == []

    def test_too_few_blocks_for_any_test(self):
        six = {"blocks": 6, "blocks_needed": 8, "verdict": "untestable with 6 blocks"}
        rows = [comparison(name, 9.0, p=0.5, **six) for name in ("swift", "other")]
        assert plain(sentences.blocks_sentences(table("improvement", *rows), "improvements")) == [
            "With 6 blocks, none of 2 tests of improvements can come out as distinguishable after Holm's "
            "correction, whatever was measured; that takes 8 blocks at least."
        ]
        rows[0] |= {"blocks": 9, "verdict": "not distinguishable"}
        assert plain(sentences.blocks_sentences(table("improvement", *rows), "improvements")) == [
            "With 6 blocks, 1 of 2 tests of improvements cannot come out as distinguishable after Holm's "
            "correction, whatever was measured; that takes 8 blocks at least."
        ]
        assert sentences.blocks_sentences(table("improvement", rows[0]), "improvements") == []
        assert sentences.blocks_sentences(table("improvement"), "improvements") == []


class TestOversubscription:
    @staticmethod
    def gain(interconnect, cores, percent, p=None, verdict=None):
        row = {"case": "duct", "interconnect": interconnect, "kind": "measured", "oversubscription": 2}
        row |= {"cores": cores, "gain_percent": percent, "p_adjusted": p, "verdict": verdict}
        return row

    def test_gain_loss_and_neither_on_the_most_cores(self):
        rows = [
            self.gain("swift", 2, 12.0, 0.01, "faster"),
            self.gain("other", 2, -30.0, 0.01, "slower"),
            self.gain("slow", 2, 1.0, 0.6, "not distinguishable"),
            self.gain("swift", 1, 99.0, 0.01, "faster"),
        ]
        assert plain(sentences.oversubscription_sentences(table("oversubscription", *rows), LABELS)) == [
            "On 2 cores, 2 processes per core are faster than one over InfiniBand (+12 %, p = 0.010).",
            "On 2 cores, 2 processes per core are slower than one over Myrinet (−30 %, p = 0.010).",
            "On 2 cores, 2 processes per core are not distinguishable from one over Gigabit Ethernet (+1.0 %, "
            "p = 0.60).",
        ]

    def test_over_all_cases(self):
        rows = [self.gain("swift", 2, 12.0, 0.01, "faster"), self.gain("swift", 2, 2.0) | {"case": "wing"}]
        assert plain(sentences.gain_sentences(table("oversubscription", *rows), LABELS)) == [
            "2 processes per core against one over InfiniBand: faster in 1 case (+12 %) and untested in 1 case "
            "(+2.0 %)."
        ]

    def test_an_empty_table_says_nothing(self):
        assert sentences.oversubscription_sentences(table("oversubscription"), LABELS) == []
        assert sentences.gain_sentences(table("oversubscription"), LABELS) == []


class TestEquivalents:
    @staticmethod
    def row(interconnect, equivalent, attainable=True, saved=None, low=None, high=None):
        row = {"case": "duct", "baseline_interconnect": "slow", "interconnect": interconnect}
        row |= {"kind": "emulated/measured", "oversubscription": 1}
        row |= {"target_speedup": 3.2, "baseline_processes": 8.0, "equivalent_processes": equivalent}
        row |= {"equivalent_low": low, "equivalent_high": high}
        return row | {"processes_saved": saved, "attainable": attainable}

    def test_what_it_takes_and_what_it_saves(self):
        row = self.row("swift", 5.3, saved=2.7, low=4.9, high=float("inf"))
        assert plain(sentences.equivalent_sentences(table("node_equivalent", row), LABELS)) == [
            "The speedup of 3.20 that Gigabit Ethernet (emulated) has at 8 processes takes 5.30 [4.90, ∞] processes "
            "over InfiniBand, 2.7 fewer."
        ]

    def test_not_attained_and_below_the_smallest_count(self):
        rows = [self.row("swift", None), self.row("other", None, attainable=False)]
        (said,) = plain(sentences.equivalent_sentences(table("node_equivalent", *rows), LABELS))
        assert said.endswith(
            "exceeded at the smallest count run by InfiniBand; it is not attained by Myrinet."
        )

    def test_an_empty_table_says_nothing(self):
        assert sentences.equivalent_sentences(table("node_equivalent"), LABELS) == []


@pytest.mark.parametrize("blocks", [1, 2, 6])
@pytest.mark.parametrize("serial", [True, False])
def test_no_sentence_of_a_study_contains_a_missing_number(blocks, serial):
    _, tables, facts = make_study(make_runs(blocks, serial=serial))
    labels = Labels(facts)
    said = [
        *sentences.reference_sentences(tables["scaling"], labels),
        *sentences.headline_sentences(tables["improvement"], labels),
        *sentences.gain_sentences(tables["oversubscription"], labels),
        *sentences.blocks_sentences(tables["improvement"], "improvements"),
    ]
    for case in ("elbow", "cavity"):
        rows = {name: table[table["case"] == case] for name, table in tables.items()}
        said += sentences.peak_sentences(rows["peaks"], rows["scaling"], labels)
        said += sentences.fastest_sentences(rows["fastest"], labels)
        said += sentences.improvement_sentences(rows["improvement"], labels)
        said += sentences.oversubscription_sentences(rows["oversubscription"], labels)
        said += sentences.equivalent_sentences(rows["node_equivalent"], labels)
    assert len(said) > 12
    for text in said:
        assert "nan" not in text.lower() and "None" not in text and "–" not in text and "<NA>" not in text
        assert (text.endswith(".") and text[0].isupper()) or text[0].isdigit()
