"""The page of the cases, and promises of every case of the catalogue. test_real_runs.py runs them."""

import re

import pandas as pd
import pytest
from PIL import Image

from workflows import inputs
from workflows.study import catalogue
from workflows.study.cases import case_files

CASES = {
    name: (file, inputs.read_yaml(file)) for name, (file,) in case_files(catalogue.ROOT / "cases").items()
}
SIZES = [(name, size) for name, (_, document) in CASES.items() for size in document["sizes"]]
STUDY_CELLS = {
    "fl5s1": 32_000,
    "fl5s2": 32_000,
    "fl5s3": 90_000,
    "fl5m1": 155_000,
    "fl5m2": 243_000,
    "fl5m3": 353_000,
    "fl5l1": 848_000,
    "fl5l2": 3_618_000,
    "channel_3m_pcg_dic": 2_995_200,
    "channel_3m_gamg_dic": 2_995_200,
}
"""Cells of the published cases (Cisco, table 1; the Open CAE Society)."""


@pytest.fixture
def measured():
    return catalogue.read_measured(catalogue.MEASURED)


def test_the_page_is_up_to_date(measured):
    solved = catalogue.read_measured(catalogue.SOLVER)
    made = catalogue.page(catalogue.ROOT / "cases", measured, solved)
    assert made == catalogue.PAGE.read_text(), "run python -m workflows.study.catalogue"


@pytest.mark.parametrize("name", CASES)
def test_every_case_has_a_smoke_size_that_takes_seconds(name):
    assert CASES[name][1]["sizes"]["smoke"]["serial_seconds"] <= 3


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_every_size_states_the_source_of_its_golden_answer(name, size):
    document = CASES[name][1]
    described = document["sizes"][size]
    assert "golden" not in described or described["golden_from"]
    assert "golden" in described or "answer" not in document or described["golden_from"].startswith("none")


@pytest.mark.parametrize("name", [name for name, (_, document) in CASES.items() if "picture" in document])
def test_pictures_are_there_and_small(name):
    file = catalogue.PAGE.parent / f"{catalogue.PICTURES}/{name}.png"
    assert file.stat().st_size < 150_000
    with Image.open(file) as picture:
        assert len(set(picture.convert("L").resize((50, 50)).get_flattened_data())) > 10  # not blank


def test_measurements_belong_to_sizes_and_have_right_answers(measured):
    assert not measured.duplicated(["case", "size", "processes"]).any()
    compared = 0
    for _, row in measured.iterrows():
        document = CASES[row["case"]][1]
        size = document["sizes"][row["size"]]
        if "golden" in size and not pd.isna(row["answer"]):
            tolerance = size.get("tolerance", document["answer"]["tolerance"])
            assert row["answer"] == pytest.approx(size["golden"], rel=tolerance)
            compared += 1
    assert compared > len(CASES)


def test_own_sizes_have_the_cells_of_the_published_cases(measured):
    serial = measured[measured["processes"] == 1].set_index(["case", "size"])["cells"]
    stand_ins = {place: CASES[place[0]][1]["sizes"][place[1]].get("published_case") for place in serial.index}
    compared = {place: name for place, name in stand_ins.items() if name in STUDY_CELLS}
    assert compared
    for place, name in compared.items():
        assert serial[place] == pytest.approx(STUDY_CELLS[name], rel=0.02), place


CASE = """\
application: command
title: Two words
description: Counts to ten.
stands_for: Nothing.
differs: In all.
size: own
sizes:
  own:
    parameters: {n: 3}
    serial_seconds: 2
    memory_MB: 1
    golden: 4
    golden_from: counting
    published_case: fl9
  smoke: {parameters: {n: 1}, serial_seconds: 1, memory_MB: 1}
answer: {quantity: number, unit: m, possible: [0, 10], tolerance: 1.0e-3, reason: Guessed.}
settings: {program: [echo]}
"""


def rows(text):
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def test_a_page_by_hand(tmp_path):
    (tmp_path / "command/count").mkdir(parents=True)
    (tmp_path / "command/count/case.yaml").write_text(CASE)
    common = {"case": "count", "size": "own", "cells": 1200, "machine": "a desk"}
    serial = {"processes": 1, "iterations": 11, "seconds": 123.4, "cpu_seconds": 130.2}
    serial |= {"memory_MB": 56.7, "foreign_cores": 0.02}
    parallel = {"processes": 2, "seconds": 67.89, "foreign_cores": 0.5, "cpu_seconds": 171}
    measured = pd.DataFrame([common | serial, common | parallel])
    solved = [("p", 1, 10, 0.5), ("p", 4, 15, 0.6), ("U", 1, 4, 0.05), ("U", 4, 6, 0.1), ("p", 2, 10, 0.5)]
    solver = pd.DataFrame(solved, columns=["field", "processes", "iterations", "share"])
    page = catalogue.page(tmp_path, measured, solver.assign(case="count", size="own"))
    assert "measured on a desk." in page
    table = rows(page)
    link = "[`count`](../cases/command/count/case.yaml)"
    assert [link, "Two words", "fl9", "1,200", "`smoke`, **`own`**"] in table
    # The serial run had the machine for itself, the other one had not: its time by the clock is marked.
    assert ["size", "cells", "iterations", "serial, s", "2 processes, s", "CPU, s", "memory, MB"] in table
    assert ["`count-own`", "1,200", "11", "123", "~68", "130", "57"] in table
    # U is too small to be shown on its own; on 4 processes 1 / (1 + 0.5 x 0.5 + 0.05 x 0.5) is left.
    heads = ["size", "field", "share", "on 1", "on 2", "on 4", "algorithmic, on 2", "algorithmic, on 4"]
    assert heads in table and sum(row[0] == "`count-own`" for row in table) == 2
    assert ["`count-own`", "p", "50 %", "10", "10", "15", "100 %", "78 %"] in table
    assert not any("count-smoke" in row[0] for row in table)  # never measured


def test_links_of_the_page_lead_to_files():
    links = re.findall(r"\]\(([^)#]+)\)", catalogue.PAGE.read_text())
    assert len(links) > len(CASES)
    assert [link for link in links if not (catalogue.PAGE.parent / link).exists()] == []
