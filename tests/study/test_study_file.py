"""Mistakes in a study file: one line with the file, the key and the value."""

import pytest
from refused import refusal
from snakemake.cli import parse_config
from study_files import study_file as write

from workflows.domain import InputError
from workflows.inputs import read_yaml
from workflows.study.study import check_baselines, check_exclude, check_sizes, check_until, read_study

GOOD = """
name: mine
cases: [cavity]
interconnects: [shared_memory, tcp_loopback]
processes: [1, 2]
"""


def test_defaults_equal_those_of_the_schema(tmp_path):
    study = read_study(write(tmp_path, GOOD))
    assert (study.scaling, study.oversubscription, study.limits.run_seconds) == ("strong", (1,), 300)
    assert study.title == "mine"


def test_a_study_with_a_target_begins_with_six_blocks(tmp_path):
    file = write(tmp_path, GOOD + "blocks: 5\nuntil: {interval_percent: 5, max_blocks: 9}\n")
    with pytest.raises(InputError, match="blocks: 5 is too small; 6 or more, since until is given"):
        check_until(read_study(file))


def test_a_given_value_replaces_the_default_and_leaves_its_neighbours(tmp_path):
    study = read_study(write(tmp_path, GOOD + "limits: {run_seconds: 5}\n"))
    assert (study.limits.run_seconds, study.limits.core_hours) == (5, 2)


def test_a_name_and_an_import_are_a_study(tmp_path):
    study = read_study(write(tmp_path, "name: mine\nimport: [theirs.csv]\n"))
    assert study.imports == (tmp_path / "theirs.csv",)
    assert study.cases == study.processes == ()


def test_overrides_replace_keys(tmp_path):
    assert read_study(write(tmp_path, GOOD), {"blocks": 9}).blocks == 9


@pytest.mark.parametrize("given", ["limits={run_seconds: .inf}", "processes=[1, .nan]"])
def test_overrides_are_finite_numbers(tmp_path, given):
    with pytest.raises(InputError, match=r"mine\.yaml: .* is not a finite number$"):
        read_study(write(tmp_path, GOOD), parse_config([given]))


def test_overrides_inside_lists_and_sections_have_their_types(tmp_path):
    """As Snakemake parses ``--config``, and merges it with the file."""
    file = write(tmp_path, GOOD + 'limits: {core_hours: 1}\nsimulation: {host_speed: 0.5, source: "2003"}\n')
    typed_in = parse_config(["processes=[1, 4]", "limits={run_seconds: 7.5}", "simulation={cases: [cavity]}"])
    given = {**read_yaml(file), "processes": typed_in.pop("processes")}
    study = read_study(file, given | {key: given[key] | more for key, more in typed_in.items()})
    assert (study.processes, study.limits.run_seconds, study.limits.core_hours) == ((1, 4), 7.5, 1)
    assert study.simulation["host_speed"] == 0.5
    assert (study.simulation["source"], study.simulation["cases"]) == ("2003", ("cavity",))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("processes:", "proceses:", "proceses: unknown key, did you mean 'processes'?"),
        ("[1, 2]", "[0, 2]", "processes[0]: 0 is too small; at least 1"),
        ("[1, 2]", "[2, 2]", "processes: 2 is there twice; each only once"),
        ("[1, 2]", "2", "processes: 2 is not a list; write [2]"),
        ("[1, 2]", "[two]", "processes[0]: 'two' is not a whole number"),
        ("[cavity]", "[cavity, cavity]", "cases: 'cavity' is there twice; each only once"),
        ("name: mine", "name: ../mine", "name: '../mine' does not match"),
        ("name: mine", "", "name: missing"),
        (
            "processes: [1, 2]",
            "",
            "processes: missing; a study has cases, interconnects, processes, or import",
        ),
        ("name: mine", "name: mine\nname: yours", "key 'name' is there twice"),
        ("name: mine", "name: mine\nblocks: 0", "blocks: 0 is too small; at least 1"),
        ("name: mine", "name: mine\nlimits: {hours: 1}", "limits.hours: unknown key"),
        (
            "name: mine",
            "name: mine\ncompare_kinds: [[measured, real]]",
            "compare_kinds[0][1]: no 'real' here",
        ),
    ],
)
def test_one_line_for_mistakes(tmp_path, old, new, line):
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD.replace(old, new))
    message = refusal(InputError, read_study, file)
    assert message.startswith(str(file)) and line in message


@pytest.mark.parametrize(
    "given",
    ["until: {interval_percent: 5, max_blocks: 9}", "processes_per_node: [1]", "site: here", "scale: 0.1"],
)
def test_keys_about_runs_are_refused_in_a_study_of_imports(tmp_path, given):
    file = write(tmp_path, f"name: theirs\nimport: [theirs.csv]\n{given}\n")
    message = refusal(InputError, read_study, file)
    assert message == f"{file}: {given.partition(':')[0]}: does not belong here, since nothing is run"


WEAK = GOOD + "scaling: weak\nsizes: {cavity: [4k, 33k]}\n"


def test_a_weak_study_names_a_size_for_each_count(tmp_path):
    study = read_study(write(tmp_path, WEAK.replace("[1, 2]", "[2, 1]").replace("[4k, 33k]", "[33k, 4k]")))
    assert [study.case_at("cavity", count) for count in study.processes] == ["cavity-4k", "cavity-33k"]
    assert study.case_of("cavity-33k") == "cavity"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("scaling: weak", "scaling: strong", "sizes: does not belong here, since scaling is strong"),
        ("sizes: {cavity: [4k, 33k]}", "", "sizes.cavity: missing, since scaling is weak"),
        ("[4k, 33k]", "[4k]", "sizes.cavity: 1 sizes for 2 process counts; must be one for each"),
        ("[4k, 33k]", "[4k, 33k], duct: [1k, 2k]", "sizes.duct: is not among the study's cases (cavity)"),
        (
            "cases: [cavity]",
            "cases: [cavity-4k]",
            "cases[0]: 'cavity-4k': no size here, since scaling is weak",
        ),
        ("weak", "weak\noversubscription: [1, 2]", "oversubscription: must be [1], since scaling is weak"),
    ],
)
def test_one_line_for_a_weak_study_that_is_wrong(tmp_path, old, new, line):
    assert line in refusal(InputError, read_study, write(tmp_path, WEAK.replace(old, new)))


def test_sizes_that_do_not_grow(tmp_path):
    study = read_study(write(tmp_path, WEAK))
    check_sizes(study, {"cavity-4k": 0.3, "cavity-33k": 3.7})
    with pytest.raises(InputError, match=r"sizes\.cavity: '33k' for 2 processes takes 0\.3 s serially"):
        check_sizes(study, {"cavity-4k": 0.3, "cavity-33k": 0.3})


def test_a_target_that_leaves_no_block_to_add(tmp_path):
    file = write(tmp_path, GOOD + "blocks: 6\nuntil: {interval_percent: 5, max_blocks: 6}\n")
    with pytest.raises(InputError, match=r"until\.max_blocks: 6 is too small; must be above blocks \(6\)"):
        check_until(read_study(file))


KINDS = {"shared_memory": "measured", "tcp_loopback": "measured", "gigabit": "emulated"}


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        ("baselines: [infiniband]", "baselines[0]: 'infiniband' is not among the study's interconnects"),
        (
            "baselines: [gigabit]",
            "baselines[0]: 'gigabit' is emulated, and the study compares it with no other",
        ),
        ("compare_kinds: [[measured, emulated]]", None),
        ("baselines: [gigabit]\ncompare_kinds: [[measured, emulated]]", None),
        ("baselines: [shared_memory]", None),
    ],
)
def test_a_comparison_that_no_block_provides(tmp_path, extra, line):
    study = read_study(write(tmp_path, GOOD + extra + "\n"))
    if line is None:
        check_baselines(study, KINDS)
    else:
        assert line in refusal(InputError, check_baselines, study, KINDS)


def test_a_kind_that_no_interconnect_has(tmp_path):
    study = read_study(write(tmp_path, GOOD + "compare_kinds: [[measured, emulated]]\n"))
    with pytest.raises(InputError, match="no interconnect of the study is emulated"):
        check_baselines(study, {"shared_memory": "measured"})


def test_an_exclusion_that_can_mean_nothing(tmp_path):
    study = read_study(write(tmp_path, GOOD + "exclude: [{processes: 2}, {case: cavty}]\n"))
    with pytest.raises(InputError, match=r"exclude\[1\]\.case: 'cavty' is not in this study \(cavity\)"):
        check_exclude(study)
