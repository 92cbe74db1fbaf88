"""Interconnects of a study's own folder, next to those of the project."""

from refused import refusal
from study_files import study_file

from workflows.errors import InputError
from workflows.paths import INTERCONNECTS
from workflows.study.asked import interconnect_file, read_asked
from workflows.study.study import read_study

STUDY = """
name: vendors
title: Vendors
question: Which?
cases: [cavity-4k]
interconnects: [shared_memory, opa_vendr]
interconnects_folder: mine
processes: [1, 2]
"""


def test_an_unknown_name_suggests_the_names_of_both_folders(tmp_path):
    own = tmp_path / "mine/opa_vendor.yaml"
    own.parent.mkdir()
    model = (INTERCONNECTS / "gigabit_ethernet.yaml").read_text()
    own.write_text(model.replace("name: gigabit_ethernet", "name: opa_vendor"))
    file = study_file(tmp_path, STUDY)
    line = refusal(InputError, read_asked, file)
    assert "interconnects[1]: no interconnect 'opa_vendr', did you mean 'opa_vendor'?" in line
    assert "; similar: simulated (models): opa_vendor; all names: " in line
    assert line.endswith(f"ls {INTERCONNECTS} {own.parent}")
    study = read_study(study_file(tmp_path, STUDY.replace("vendr", "vendor")))
    assert interconnect_file(study, "opa_vendor") == own
