"""The report as plain data: every section, its sentences, and its form without data."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest
import report_parts
from report_parts import blocks, cells, part, table_lines
from synthetic_study import make_runs, make_study

from analysis.pipeline import draw_figures, read_tables, write_tables
from analysis.presentation.blocks import bullets, left, paragraph, right, row, section, table
from analysis.report import make_report
from analysis.runs.facts import Counts, Facts, LeftOut
from analysis.runs.runs import TableError


def whole(study):
    """Report of a study with its figures."""
    return make_report(*study, [drawing.entry() for drawing in draw_figures(*study)])


def texts(value):
    """Every text of a report."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def plain(value):
    return report_parts.plain("\n".join(texts(value)))


class TestWhole:
    def test_sections_in_their_order(self, report):
        body = "answer words case-1 case-2 peaks improvement equivalents oversubscription".split()
        appendix = "asked method fastest order invalid machine".split()
        assert [section["id"] for section in report["sections"]] == [*body, *appendix]
        assert [section["id"] for section in report["sections"] if section["appendix"]] == appendix

    def test_some_blocks_are_for_the_screen_only(self, report):
        unprinted = {
            of_report["id"]
            for of_report in report["sections"]
            for block in of_report["blocks"]
            if not block["printed"]
        }
        assert unprinted == {"peaks", "method", "improvement", "oversubscription", "fastest", "order"}

    def test_it_survives_json_unchanged(self, report):
        assert json.loads(json.dumps(report, allow_nan=False)) == report

    def test_no_text_is_a_missing_number(self, report):
        all_texts = list(texts(report))
        assert len(all_texts) > 50
        for text in all_texts:
            assert "nan" not in text.lower().split() and "None" not in text and "<NA>" not in text

    def test_every_figure_is_shown_once(self, report, drawings):
        shown = [block["name"] for section in report["sections"] for block in blocks(section, "figure")]
        assert sorted(shown) == sorted(drawing.name for drawing in drawings)

    def test_rows_have_a_cell_for_every_column(self, report):
        tables = [block for of_report in report["sections"] for block in blocks(of_report, "table")]
        groups = [group for table in tables for group in table["groups"]]
        assert len(groups) > 10 and all(group["rows"] for group in groups)
        assert {len(line["cells"]) - len(block["columns"]) for block, line in table_lines(report)} == {0}

    def test_rows_carry_the_names_of_the_filters(self, report):
        cases = {case["name"] for case in report["cases"]}
        interconnects = {interconnect["name"] for interconnect in report["interconnects"]}
        lines = [line for _, line in table_lines(report)]
        assert {line["case"] for line in lines} == cases | {""}
        assert {line["interconnect"] for line in lines} == interconnects | {""}


class TestWords:
    def test_the_question_of_the_study(self, report):
        assert "What is an interconnect worth?" in plain(part(report, "words"))
        sentences = plain(part(report, "asked"))
        assert (
            "The study has 2 cases and 3 interconnects. The process counts are 1, 2 and 4. Each core has 1 or 2 "
            "processes. The study has 312 runs. 1 of the runs is invalid." in sentences
        )
        assert "What elbow stands for." in sentences

    def test_the_answer_states_winner_margin_and_certainty(self, report):
        sentences = report_parts.sentences_of(part(report, "words"))
        assert (
            "Shared memory is 54 % to 103 % faster than GigE (emu) in both cases of one application at "
            in sentences
        )
        assert (
            "Brackets contain 95 % intervals. A 95 % interval probably contains the true value." in sentences
        )

    def test_the_method_states_blocks_tests_and_references(self, report):
        sentences = plain(part(report, "method"))
        assert "Every point that was run has 11 to 12 valid blocks. The seed" in sentences
        assert "signed-rank test" in sentences and "Holm" in sentences
        references = report_parts.cells(blocks(part(report, "method"), "table")[0])
        assert references[0][:5] == ["Duct elbow", "emulated and measured", "Serial run", "1", "4.00"]

    def test_a_case_states_its_check_its_reference_and_all_its_numbers(self, report):
        page = part(report, "case-1")
        sentences = plain(page)
        assert page["heading"] == "Duct elbow" and page["new_page"] and page["case"] == "elbow"
        assert "pressure drop equals 117.273 m2/s2 within a relative tolerance of 0.005." in sentences
        assert "Speedup is relative to the serial run of 4.00 s." in sentences
        (numbers,) = blocks(page, "table")
        assert [group["title"] for group in numbers["groups"]][:3] == [
            "Serial run",
            "GigE (emu), oversubscription 1",
            "TCP loopback, oversubscription 1",
        ]

    def test_invalid_missing_and_left_out_points(self, report):
        sentences = plain(part(report, "invalid"))
        assert "1 of 312 runs is invalid and left out" in sentences
        assert "stopped at 120 s" in sentences
        assert "infiniband: there is no such device here." in sentences
        assert "Duct elbow, GigE (emu), 4 processes, oversubscription 1: 11" in sentences

    def test_the_machine_and_its_versions(self, report):
        (rows,) = (block["groups"][0]["rows"] for block in blocks(part(report, "machine"), "table"))
        versions = {line["cells"][0]: line["cells"][1] for line in rows}
        assert versions["CPU"] == "A CPU" and versions["MPI library"] == "mpirun (Open MPI) 4.1.4"
        assert versions["Application openfoam"] == "1912" and versions["Nodeworth"] == "0.1.0"
        assert "Frequency governor" not in versions  # unknown here

    def test_planned_but_not_run(self, study):
        facts = replace(study[2], runs=Counts(planned=320, recorded=312, invalid=1))
        report = make_report(study[0], study[1], facts, [])
        assert "312 runs of 320 planned" in plain(part(report, "asked"))
        assert "The study lacks 8 of 320 planned runs." in plain(part(report, "invalid"))


class TestPoorStudies:
    def test_an_unfinished_study_shows_curves_without_a_direction(self):
        study = make_study(make_runs(6), blocks=8, blocks_recorded=6)
        report = whole(study)
        answer = part(report, "answer")
        sentences = report_parts.sentences_of(answer)
        assert report_parts.plain(report["result"]) == "6 of 8 blocks recorded: no result yet"
        assert (
            "6 of 8 blocks. Before the last block, Nodeworth shows curves but states no direction."
            in sentences
        )
        assert not blocks(answer, "key_figures")
        sentences += report_parts.sentences_of(part(report, "words"))
        assert (
            "faster than" not in sentences
            and "Scaling of" not in sentences
            and sentences.count(" worth") == 1
        )  # in the question
        (table,) = blocks(answer, "table")
        assert len(table["columns"]) == 4

    def test_one_block_has_no_intervals(self):
        report = whole(make_study(make_runs(1, cases=("elbow",))))
        assert "a single run of one side, so chance may explain the difference" in plain(
            part(report, "answer")
        )
        assert "a single run of one side, so chance may explain the difference" in plain(
            part(report, "words")
        )
        assert "Nodeworth tests no difference" in plain(part(report, "method"))
        assert "single samples without intervals" in plain(part(report, "case-1"))

    def test_too_few_blocks_for_any_verdict(self):
        report = whole(make_study(make_runs(3, cases=("elbow",))))
        sentences = plain(part(report, "peaks"))
        assert "a verdict may need at least" in sentences
        (table,) = blocks(part(report, "answer"), "table")
        assert {line[4] for line in report_parts.cells(table)} == {"is the baseline", "too few blocks at 4"}

    def test_nothing_to_compare_is_a_sentence_and_no_empty_panel(self):
        runs = make_runs(2, levels=(1,), interconnects=("shared_memory",))
        report = whole(make_study(runs, baselines=[], compare_kinds=[]))
        assert "There is no comparison" in plain(part(report, "improvement"))
        assert "oversubscription" not in {of_report["id"] for of_report in report["sections"]}
        assert "All oversubscription levels" not in plain(part(report, "method"))
        kinds = {block["type"] for block in part(report, "improvement")["blocks"]}
        assert kinds and not kinds & {"table", "figure"}
        assert "equivalents" not in {of_report["id"] for of_report in report["sections"]}

    def test_without_serial_run_the_reference_is_named(self):
        report = whole(make_study(make_runs(2, cases=("elbow",), serial=False)))
        assert "No serial time is known." in plain(part(report, "case-1"))

    def test_serial_runs_alone(self):
        """They have no interconnect, and nothing is estimated."""
        report = whole(make_study(make_runs(2, interconnects=(), cases=("elbow",)), baselines=[]))
        section_asked = part(report, "asked")
        assert (
            "The study has 1 case. All runs are serial. The process count is 1. The study has 2 runs."
            in plain(section_asked)
        )
        assert [block["caption"] for block in blocks(section_asked, "table")] == ["Cases."]
        assert "Only serial runs are valid" in plain(part(report, "answer"))

    def test_published_results_without_facts(self):
        runs = make_runs(1, cases=("elbow",), interconnects=("gigabit", "loopback"), serial=False)
        runs = runs[["case", "interconnect", "processes", "oversubscription", "seconds"]]
        complete, tables, _ = make_study(runs.assign(kind="published", block=1), compare_kinds=[])
        report = make_report(complete, tables, Facts(), [])
        sentences = plain(report)
        assert report["title"] == "Scaling study"
        assert "The published results are imported from files." in sentences
        assert "Gigabit (pub)" in sentences
        json.dumps(report, allow_nan=False)

    def test_imported_runs_have_no_protocol_of_this_study(self):
        """Measured elsewhere is measured, but not here, whether its records came with it or not."""
        runs, tables, facts = make_study(make_runs(6))
        for imported in (runs.assign(record=None), runs.assign(origin="import")):
            sentences = plain(part(make_report(imported, tables, facts, []), "method"))
            assert "The measured and emulated results are imported from files." in sentences
            assert "random order" not in sentences and "The seed of the bootstrap is 1." in sentences

    def test_points_with_equally_many_blocks_state_their_number(self):
        sentences = plain(part(make_report(*make_study(make_runs(3)), []), "method"))
        assert "Every point that was run has 3 valid blocks." in sentences

    def test_one_sample_is_no_median(self):
        report = make_report(*make_study(make_runs(1)), [])
        sentences = plain(report)
        assert "medians of repeated runs" not in sentences and "Each time is a single sample" in sentences
        assert "may have the highest" not in sentences
        assert "p is the p-value" not in plain(part(report, "improvement"))

    def test_an_interconnect_at_two_sites_counts_once(self):
        runs = pd.concat([make_runs(3).assign(site=site) for site in ("old", "new")], ignore_index=True)
        report = make_report(*make_study(runs), [])
        assert "The study has 2 cases, 3 interconnects and 2 sites." in plain(part(report, "asked"))
        (table,) = (block for block in blocks(part(report, "case-1"), "table"))
        titles = [group["title"] for group in table["groups"]]
        assert "Serial run (new)" in titles and "Serial run (old)" in titles

    def test_one_case_fills_its_page_with_the_answer(self):
        report = whole(make_study(make_runs(2, cases=("elbow",))))
        assert not part(report, "case-1")["new_page"]

    def test_many_points_are_printed_by_count(self):
        counts = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32)
        report = whole(make_study(make_runs(2, counts=counts, cases=("elbow",))))
        captions = " ".join(block["caption"] for block in blocks(part(report, "case-1"), "table"))
        assert "Duct elbow: speedup" in captions
        assert "File tables/scaling.csv has the intervals and all other quantities" in captions

    def test_too_many_counts_for_columns_are_rows_on_the_screen(self):
        counts = range(1, 20)
        report = whole(make_study(make_runs(2, counts=counts, cases=("elbow",))))
        *short, full = blocks(part(report, "case-1"), "table")
        assert [column["title"] for column in full["columns"]][:2] == [["Processes"], ["Cores"]]
        assert not full["printed"] and len(short) == 2 and all(table["printed"] for table in short)

    def test_far_too_many_counts_are_columns_of_several_tables(self):
        report = whole(make_study(make_runs(2, counts=range(1, 42), cases=("elbow",))))
        captions = [block["caption"] for block in blocks(part(report, "case-1"), "table")]
        counts = [re.search(r"on (\d+) to (\d+) processes\. ", caption).groups() for caption in captions]
        assert counts == [("2", "15"), ("16", "29"), ("30", "41")]

    def test_disturbed_repetitions_are_counted(self, study):
        runs, tables, facts = study
        cores = [0.01, 0.9, 0.5] + [None] * (len(runs) - 3)
        sentences = plain(part(make_report(runs.assign(foreign_cores=cores), tables, facts, []), "quality"))
        assert "Other programs disturbed 2 of 3 valid runs. " in sentences

    def test_page_one_counts_disturbed_and_invalid_runs(self, study):
        runs, tables, facts = study
        sentences = plain(part(make_report(runs.assign(foreign_cores=0.5), tables, facts, []), "words"))
        valid = int(runs["valid"].sum())
        assert f"Other programs disturbed {valid} of {valid} valid runs. " in sentences
        assert re.search(
            rf"{len(runs) - valid} of {len(runs)} runs? (is|are) invalid and left out", sentences
        )

    def test_page_one_of_an_unfinished_study_counts_invalid_runs(self):
        runs, tables, facts = make_study(make_runs(2), blocks=3, blocks_recorded=2)
        runs.loc[0, ["valid", "reason"]] = [False, "wrong answer"]
        sentences = plain(part(make_report(runs, tables, facts, []), "answer"))
        assert "So far: " in sentences and re.search(r"\. 1 of \d+ runs is invalid and left out\.", sentences)

    def test_page_one_without_a_valid_run_counts_the_runs(self):
        runs = make_runs(2, cases=("elbow",)).assign(valid=False, reason="wrong answer")
        sentences = plain(part(whole(make_study(runs, baselines=[])), "answer"))
        assert (
            "No run is valid" in sentences
            and f"{len(runs)} of {len(runs)} runs are invalid and left out" in sentences
        )

    def test_every_section_counts_runs_before_a_change_as_outdated(self):
        """With the numbers of a case that was edited once: as many runs before the change as after it."""
        runs, tables, facts = make_study(make_runs(2))
        reason = "outdated: the case changed after the run"
        earlier = runs.assign(
            valid=False,
            loss="outdated",
            reason=reason,
            block=runs["block"] + 2,
            started="2026-10-01T08:00:00",
        )
        number = len(runs)
        both = pd.concat([runs.assign(loss=None), earlier], ignore_index=True)
        both["loss"] = both["loss"].astype("str")
        counts = Counts(planned=number, recorded=2 * number, invalid=0, outdated=number)
        report = make_report(both, tables, replace(facts, runs=counts), [])
        assert f"{number} runs are outdated and left out: " in plain(part(report, "words"))
        assert f"The study has {number} runs. No run is invalid. {number} other runs are outdated." in plain(
            part(report, "asked")
        )
        sentences = plain(part(report, "invalid"))
        assert f"{number} runs are outdated and left out: " in sentences and "are invalid" not in sentences
        assert "Dates of the outdated runs (UTC): 2026-10-01." in sentences and reason in sentences
        assert "The study lacks" not in sentences

    def test_equal_reasons_of_a_case_have_one_row_with_the_number_of_runs(self):
        """Two cases of 12 blocks, with two process counts over loopback at two levels."""
        runs = make_runs(12)
        is_bad = (runs["interconnect"] == "loopback") & (runs["oversubscription"] == 1)
        runs.loc[is_bad, ["valid", "reason"]] = [False, "diverged"]
        complete, tables, facts = make_study(runs)
        (table,) = blocks(part(make_report(complete, tables, facts, []), "invalid"), "table")
        number = str(int(is_bad.sum()) // 2)
        assert [(line[0], line[4], line[6]) for line in cells(table)] == [
            ("Duct elbow", number, "diverged"), ("Lid-driven cavity", number, "diverged"),
        ]  # fmt: skip

    def test_a_long_list_of_reasons_is_cut_with_a_note(self):
        runs = make_runs(12)
        is_bad = runs["interconnect"] == "loopback"
        runs.loc[is_bad, "valid"] = False
        runs.loc[is_bad, "reason"] = [f"error {number}" for number in range(is_bad.sum())]
        complete, tables, facts = make_study(runs)
        sentences = plain(part(make_report(complete, tables, facts, []), "invalid"))
        assert f"The table shows the first 50 of {is_bad.sum()} rows." in sentences

    def test_a_long_list_of_left_out_parts_is_cut_with_a_note(self):
        runs, tables, facts = make_study(make_runs(2))
        facts = replace(facts, left_out=[LeftOut(f"{number}.out: line 1", "cut off") for number in range(53)])
        sentences = plain(part(make_report(runs, tables, facts, []), "invalid"))
        assert "49.out: line 1: cut off." in sentences and "50.out: line 1" not in sentences
        assert "3 further entries: see left_out in facts.json." in sentences


class TestParts:
    def test_an_empty_section_is_left_out(self):
        assert section("x", "X", []) is None

    def test_texts_are_put_on_one_line(self):
        assert paragraph("a\nb")["text"] == "a b"
        assert bullets(["a\tb"])["items"] == ["a b"]
        assert row(["a\r\nb"])["cells"] == ["a b"]

    def test_columns_of_long_texts_share_the_room(self):
        long = table("T.", [*left("A"), *right("B"), *left("C")], {"": [row(["x" * 90, "1", "y"])]})
        assert [head["share"] > 0 for head in long["columns"]] == [True, False, False]

    def test_a_long_column_squeezes_no_other(self):
        """Columns as wide as their cells leave the long one no room, and texts stand over one another."""
        made = table("T.", left("A", "B", "C", "D"), {"": [row(["x" * 30, "x" * 90, "x" * 30, "y"])]})
        assert [head["share"] > 0 for head in made["columns"]] == [False, True, True, False]

    def test_empty_columns_are_left_out(self):
        heads = [*left("A", "B"), *right("C", "D")]
        made = table("T.", heads, {"": [row(["x", "–", "–", ""]), row(["y", "", "1", "–"])]})
        assert [head["title"] for head in made["columns"]] == [["A"], ["C"]]
        assert [line["cells"] for line in made["groups"][0]["rows"]] == [["x", "–"], ["y", "1"]]

    def test_words_of_a_heading_are_not_parted(self):
        assert right("Oversubscription")[0]["title"] == ["Oversubscription"]

    def test_groups_without_rows_are_left_out(self):
        assert table("T.", right("A"), {"empty": [], "full": [row(["1"])]})["groups"][0]["title"] == "full"


class TestTables:
    def test_empty_tables_are_read(self, tmp_path):
        runs = make_runs(2, levels=(1,), interconnects=("shared_memory",))
        _, tables, _ = make_study(runs, baselines=[], compare_kinds=[])
        write_tables(tables, tmp_path)
        assert read_tables(tmp_path)["improvement"].empty

    @pytest.mark.parametrize("damage", ["missing", "empty", "foreign", "text"])
    def test_a_damaged_table_is_one_line_with_its_file(self, study, tmp_path, damage):
        write_tables(study[1], tmp_path)
        file = tmp_path / "peaks.csv"
        if damage == "missing":
            file.unlink()
        elif damage == "text":
            text = file.read_text()
            file.write_text(text.replace("elbow,gigabit,emulated,1,", "elbow,gigabit,emulated,one,"))
        else:
            file.write_text("" if damage == "empty" else "case,speed\nduct,3\n")
        with pytest.raises(TableError, match=r"peaks\.csv: [^\n]+$"):
            read_tables(tmp_path)
