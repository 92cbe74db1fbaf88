"""Published figures without times: shown with ours in sentences and tables, never in an estimate."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from made_tables import make_tables
from report_files import print_study
from report_parts import blocks, part, plain
from small_runs import ROOT
from synthetic_study import make_runs, make_study

from analysis.importers import read_published
from analysis.presentation.labels import Labels
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.runs import RUNS
from analysis.runs.settings import Settings
from analysis.topics.published import sentences as published_sentences

LABELS = Labels(Facts())
FLUENT = ("cases", "peaks", "improvement", "node_equivalent")


@pytest.fixture(scope="module")
def fluent():
    """The published Fluent figures."""
    tables = read_published(ROOT / "analysis/published")
    return {name: tables[name] for name in FLUENT}


def whole(value):
    return plain(json.dumps(value, ensure_ascii=False))


def sentences(made):
    return list(map(plain, made))


def rows_of(report, caption):
    """Rows of the table of the section on published figures whose caption begins so, by their group."""
    tables = blocks(part(report, "published"), "table")
    (table,) = (block for block in tables if block["caption"].startswith(caption))
    return {group["title"]: [line["cells"] for line in group["rows"]] for group in table["groups"]}


def empty_study():
    """A study that neither ran nor imported a run."""
    columns = {name: pd.Series(dtype=str(column.dtype)) for name, column in RUNS.columns.items()}
    runs = RUNS.validate(pd.DataFrame(columns))
    facts = Facts.of({"study": {"name": "theirs"}})
    return runs, make_tables(runs, Settings(study="theirs")), facts


def test_notes_stand_with_the_interconnect_that_they_are_about(fluent):
    """The paper says of the burner that InfiniBand, and no other, may gain above 48 processes."""
    burner = fluent["peaks"].set_index(["case", "interconnect"])["note"]["fl5m3"].dropna()
    assert burner.to_dict() == {"infiniband": "possible speedup above 48"}


class TestSentences:
    def test_improvements_are_summed_up_and_their_means_checked(self, fluent):
        """(77 + 84 + 30 + 40 + 51 + 46 + 24 + 47) / 8 = 49.875, which the paper rounds to 50."""
        printed = sentences(published_sentences.improvement_sentences(fluent, LABELS))
        assert printed == [
            "RDMA GigE (pub) is faster than GigE (pub) in 7 of 8 cases. At the compared count, the improvement is "
            "-1 % to +30 %, arithmetic mean +14 %. Averaged over all counts up to this count, the "
            "improvement is -7 % to +21 %, arithmetic mean +8.8 %. The published arithmetic means are "
            "+14 % and +9 %.",
            "InfiniBand (pub) is faster than GigE (pub) in 8 of 8 cases. At the compared count, the improvement is "
            "+24 % to +84 %, arithmetic mean +49.9 %. Averaged over all counts up to this count, the "
            "improvement is +8 % to +48 %, arithmetic mean +24.1 %. The published arithmetic means are "
            "+50 % and +24 %.",
        ]

    def test_where_no_mean_was_published_it_is_geometric(self, fluent):
        """1.24 × 1.19 × 0.99 × 1.11 × 1.18 × 1.07 × 1.04 × 1.30 = 1.1357⁸, arithmetically 14 %."""
        cases = fluent["improvement"][fluent["improvement"]["case"] != published_sentences.AVERAGE]
        printed = sentences(published_sentences.improvement_sentences({"improvement": cases}, LABELS))
        assert (
            "At the compared count, the improvement is -1 % to +30 %, geometric mean +13.6 %." in printed[0]
        )
        assert "published" not in printed[0]

    def test_peaks_are_compared_with_those_of_the_baseline(self, fluent):
        """InfiniBand: later on s1, s2, m1, m2, m3. RNIC: later on m1, m2; earlier on l2, for want of cards."""
        printed = sentences(published_sentences.peak_sentences(fluent, LABELS))
        assert printed == [
            "Compared with GigE (pub), the speedup of RDMA GigE (pub) peaks at more processes in 2, at as many "
            "processes in 5 and at fewer processes in 1 (fl5l2) of 8 cases.",
            "Compared with GigE (pub), the speedup of InfiniBand (pub) peaks at more processes in 5 and at as many "
            "processes in 3 of 8 cases.",
        ]

    def test_the_worked_example(self, fluent):
        (sentence,) = sentences(published_sentences.equivalent_sentences(fluent, LABELS))
        assert sentence == (
            "A speedup of 11 in fl5m2 needs 24 processes over GigE (pub), 20 processes (4 fewer) over "
            "RDMA GigE (pub) and 16 processes (8 fewer) over InfiniBand (pub)."
        )

    def test_absent_figures_have_no_sentence(self, fluent):
        assert published_sentences.improvement_sentences({}, LABELS) == []
        assert published_sentences.peak_sentences({"peaks": fluent["peaks"]}, LABELS) == []
        assert published_sentences.equivalent_sentences({}, LABELS) == []


class TestAlone:
    def test_a_study_of_published_figures_alone_shows_every_one(self, fluent):
        report = make_report(*empty_study(), [], fluent)
        assert [section["id"] for section in report["sections"]] == [
            "answer",
            "words",
            "published",
            "asked",
            "machine",
        ]
        assert "This study has no runs" in whole(part(report, "asked"))
        peaks = rows_of(report, "Peaks of the speedup.")
        assert list(peaks) == ["fl5s1", "fl5s2", "fl5s3", "fl5m1", "fl5m2", "fl5m3", "fl5l1", "fl5l2"]
        assert peaks["fl5m1"][2] == ["InfiniBand (pub)", "64", ""]
        improvements = rows_of(report, "Improvement at")
        assert sum(map(len, improvements.values())) == 16  # the means over cases are no case
        sides = ["InfiniBand (pub)", "GigE (pub)"]
        assert improvements["fl5s1"][1] == [*sides, "8", "+77", "+48"]
        assert list(rows_of(report, "Processes that reach")) == ["fl5m2"]

    def test_it_has_tables_without_rows(self):
        tables = empty_study()[1]
        assert tables and all(table.empty for table in tables.values())

    def test_it_is_printed(self, fluent, tmp_path):
        folder = print_study(tmp_path / "theirs", *empty_study(), fluent)
        assert (folder / "report.pdf").stat().st_size > 10_000
        assert "RDMA GigE (pub)" in (folder / "report.html").read_text(encoding="utf-8")


class TestWithMeasurements:
    @pytest.fixture
    def study(self):
        runs, tables, facts = make_study(make_runs())
        elbow = replace(facts.case("elbow"), published_case="fl5s1")
        return runs, tables, replace(facts, cases={**facts.cases, "elbow": elbow})

    @pytest.fixture
    def report(self, study, fluent):
        return make_report(*study, [], fluent)

    def test_peaks_are_in_one_group_with_published_ones_marked(self, study, report):
        (title, rows), *others = rows_of(report, "Peaks of the speedup.").items()
        assert title == "Duct elbow, counterpart of fl5s1" and not others
        names = [row[0] for row in rows]
        assert names == [
            "GigE (emu)",
            "TCP loopback",
            "Shared memory",
            "GigE (pub)",
            "RDMA GigE (pub)",
            "InfiniBand (pub)",
        ]
        place = "case == 'elbow' and oversubscription == 1 and interconnect == 'gigabit'"
        assert rows[0][1] == str(study[1]["peaks"].query(place)["peak_processes"].item())
        assert rows[5][1] == "16"

    def test_improvements_over_each_sides_own_baseline(self, report):
        (rows,) = rows_of(report, "Improvement at").values()
        assert [(row[0], row[1]) for row in rows] == [
            ("Shared memory", "TCP loopback"),
            ("TCP loopback", "GigE (emu)"),
            ("Shared memory", "GigE (emu)"),
            ("RDMA GigE (pub)", "GigE (pub)"),
            ("InfiniBand (pub)", "GigE (pub)"),
        ]
        assert rows[4][2:] == ["8", "+77", "+48"]

    def test_cases_without_a_counterpart_are_named(self, report):
        text = part(report, "published")["blocks"][0]["text"]
        assert "fl5s2, fl5s3, fl5m1, fl5m2, fl5m3, fl5l1 and fl5l2 have no counterpart" in text

    def test_nothing_else_of_the_report_changes(self, study, report):
        """No published figure enters an estimate, a figure or another section."""
        alone = make_report(*study, [])
        others = [section for section in report["sections"] if section["id"] not in ("published", "machine")]
        assert others == [section for section in alone["sections"] if section["id"] != "machine"]

    def test_page_one_compares_our_figures_with_published_ones(self, study):
        """Theirs over InfiniBand: 16 processes, +77 % where Gigabit Ethernet peaks on 8. Ours: made up here."""
        of_case = {"case": "fl5s1", "interconnect": "shared_memory"}
        theirs = {"peaks": pd.DataFrame([of_case | {"peak_processes": 8, "note": None, "source": "them"}])}
        pair = of_case | {"baseline_interconnect": "gigabit", "source": "them", "at_processes": 8}
        theirs["improvement"] = pd.DataFrame([pair | {"improvement_percent": 77.0, "average_percent": 48.0}])
        text = whole(part(make_report(*study, [], theirs), "words"))
        rows = study[1]["improvement"].query("case == 'elbow' and oversubscription == 1")
        ours = rows.query("interconnect == 'shared_memory' and baseline_interconnect == 'gigabit'")
        peak = study[1]["peaks"].query("case == 'elbow' and interconnect == 'shared_memory'")
        same = int(peak["peak_processes"].iloc[0] == 8)
        assert (
            "Compared with the published counterparts: curves peak at the published count of "
            f"processes over Shared memory in {same} of 1; the improvement of Shared memory where GigE (emulated) peaks is "
            f"{ours['improvement_percent'].iloc[0]:+.0f} % here and +77 % in the publication." in text
        )

    def test_without_a_case_that_stands_for_one_all_are_shown(self, fluent):
        report = make_report(*make_study(make_runs()), [], fluent)
        assert len(rows_of(report, "Peaks of the speedup.")) == 8
        assert "No case of this study corresponds to a published case." in whole(report["sections"])
