"""Studies that choose the sizes of their cases by a scale."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refusal
from study_files import study_file

from workflows.domain import InputError
from workflows.paths import CASES
from workflows.plan.announce import announcement
from workflows.plan.plan import make_plan
from workflows.study.cases import load_case, size_at_scale

STUDY = """
name: scaled
cases: [elbow_segregated, sedan]
interconnects: [shared_memory]
processes: [1, 2]
limits: {core_hours: 100}
"""


@pytest.fixture
def plan_of(tmp_path):
    def make(text, **overrides):
        return make_plan(study_file(tmp_path, text), overrides)

    return make


def write_case(folder, default_size, sizes):
    """Write a case called odd with some sizes."""
    case = folder / "cases/command/odd"
    case.mkdir(parents=True)
    listed = ", ".join(f"{size}: {{parameters: {{}}, serial_seconds: 1, memory_MB: 1}}" for size in sizes)
    (case / "case.yaml").write_text(
        f"application: command\ntitle: Odd\ndescription: Odd.\nstands_for: Nothing.\nsize: {default_size}\n"
        f"sizes: {{{listed}}}\nsettings: {{program: [echo]}}\n"
    )


@pytest.mark.parametrize(
    ("name", "scale", "size"),
    [
        ("elbow_segregated", 1, "32k"),
        ("elbow_segregated", 0.1, "4k"),  # of 4,000 and 32,000 cells, for 3,200
        ("elbow_segregated", 0.36, "32k"),  # 11,520 lies above the geometric mean of the two, 11,314
        ("elbow_segregated", 0.35, "4k"),
        ("sedan", 0.1, "366k"),
        ("sedan", 1e-6, "80k"),  # never smoke
    ],
)
def test_the_nearest_size_by_ratio(name, scale, size):
    assert size_at_scale(load_case(name, CASES), scale, "here") == size


def test_sizes_that_count_something_else(tmp_path):
    write_case(tmp_path, "w6", ["smoke", "w3", "w6", "w12"])
    assert size_at_scale(load_case("odd", tmp_path / "cases"), 2, "here") == "w12"


@given(st.floats(1e-9, 1e9))
def test_a_larger_scale_never_gives_a_smaller_size(scale):
    sizes = ["80k", "366k", "3600k"]
    sedan = load_case("sedan", CASES)
    chosen = [sizes.index(size_at_scale(sedan, factor * scale, "here")) for factor in (1, 3)]
    assert chosen == sorted(chosen)


def test_the_plan_runs_and_lists_the_chosen_sizes(plan_of):
    plan = plan_of(f"{STUDY}scale: 0.1\n")
    assert {point.case for point in plan.design.points} == {"elbow_segregated-4k", "sedan-366k"}
    assert "sizes at scale 0.1: elbow_segregated-4k of 32k, sedan-366k of 3600k" in announcement(plan)
    assert plan.asked.study.case_of("sedan-366k") == "sedan"


def test_results_of_another_scale_are_other_records(plan_of):
    tenth, whole = plan_of(f"{STUDY}scale: 0.1\n"), plan_of(f"{STUDY}scale: 0.1\n", scale=1)
    assert {point.case for point in whole.design.points} == {"elbow_segregated-32k", "sedan-3600k"}
    assert not any(tenth.asked.asks_for(point) for point in whole.design.points)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STUDY + "scale: 0\n", "scale: 0 is too small; must be above 0"),
        (STUDY.replace("sedan", "sedan-80k") + "scale: 0.1\n",
         "cases[1]: 'sedan-80k': no size here, since scale chooses it"),
        (STUDY + "scale: 0.1\nscaling: weak\nsizes: {elbow_segregated: [4k, 32k], sedan: [80k, 366k]}\n",
         "scale: does not belong here, since scaling is weak"),
        (STUDY.replace("elbow_segregated, sedan", "odd") + "cases_folder: cases\nscale: 1\n",
         "cases[0]: 'odd' cannot be scaled: its size 'usual' is no number as 32k or w12"),
    ],
)  # fmt: skip
def test_a_scale_that_cannot_be_is_one_line(plan_of, tmp_path, text, message):
    write_case(tmp_path, "usual", ["usual"])
    assert message in refusal(InputError, plan_of, text)
