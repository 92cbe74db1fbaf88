"""The default number of blocks: as many as the largest planned family of tests needs."""

import pytest
from study_files import study_file as write

from analysis.statistics import multiple_tests
from workflows.study.asked import read_asked
from workflows.study.default_blocks import default_blocks
from workflows.study.study import read_study

GOOD = """
name: mine
cases: [cavity]
interconnects: [a, b]
processes: [1, 2, 4, 8]
"""
KINDS = {
    "a": "measured",
    "b": "measured",
    "c": "emulated",
    "d": "emulated",
    "s": "simulated",
    "t": "simulated",
}


@pytest.mark.parametrize(
    ("changes", "tests"),
    [
        ("", 1),
        ("cases: [cavity, duct]", 2),
        ("interconnects: [a, b, s, t]", 1),  # simulated ones are not tested
        ("interconnects: [a, s, t]", 0),
        ("interconnects: [a, b, c, d]", 2),  # one of each kind
        ("interconnects: [a, b, c, d]\ncompare_kinds: [[measured, emulated]]", 4),  # and c, d beside a
        ("interconnects: [a, b, c, d]\nbaselines: [a, c]\ncompare_kinds: [[measured, emulated]]", 6),
        ("baselines: [a, b]\noversubscription: [1, 2]", 4),
        # of 2, 4, 8 processes, those on nodes of 2 or 4 beside 1 a node; two on a node of 4 do not fill it
        ("interconnects: [a]\nprocesses_per_node: [1, 2, 4]", 5),
        # on 2, 4 and 8 cores two more ways each, but one on 2; on 16 and 32, one and none
        ("interconnects: [a]\nthreads: [1, 2, 4]", 1 + 2 + 2 + 1),
    ],
)
def test_blocks_follow_from_the_tests_that_are_planned(tmp_path, changes, tests):
    keys = dict(line.split(": ", 1) for line in [*GOOD.split("\n")[1:-1], *changes.split("\n")] if line)
    study = read_study(write(tmp_path, "\n".join(f"{key}: {value}" for key, value in keys.items())))
    assert default_blocks(study, KINDS) == multiple_tests.blocks_needed(max(tests, 1), paired=True)


def test_levels_share_no_block(tmp_path):
    """Of 30 levels and counts, 24 have a partner at one process a core: 40 x 24 divisions, C(12, 6) = 924."""
    changed = (
        "interconnects: [a]\nprocesses: [1, 2, 4, 8, 16, 32, 64]\noversubscription: [1, 2, 4, 8, 16, 32]\n"
    )
    study = read_study(write(tmp_path, f"name: mine\ncases: [a, b]\n{changed}"))
    tests = 2 * (6 + 5 + 4 + 3 + 2)
    assert default_blocks(study, KINDS) == multiple_tests.blocks_needed(tests, paired=False) == 7


def test_a_study_that_names_its_blocks_keeps_them(tmp_path):
    study = GOOD.replace("[a, b]", "[shared_memory, tcp_loopback]")
    assert read_asked(write(tmp_path, study)).study.blocks == 6
    assert read_asked(write(tmp_path, study), {"blocks": 4}).study.blocks == 4
