"""Remarks of the report on printed times and on worlds of unknown size."""

import pandas as pd
import pytest

from analysis.topics.quality.sentences import printed_time_sentences, world_sentences


def runs(seconds, wall_seconds, **columns):
    """Runs of the case ring on 1 (serial), 2 and 4 processes."""
    return pd.DataFrame(
        {
            "case": "ring",
            "application": "command",
            "interconnect": [None, "ib", "ib"],
            "processes": [1, 2, 4],
            "oversubscription": 1,
            "threads": 1,
            "seconds": seconds,
            "wall_seconds": wall_seconds,
            "valid": True,
            "origin": "run",
        }
        | columns
    )


def test_times_that_follow_the_wall_times_get_no_remark():
    assert printed_time_sentences(runs([4.0, 2.0, 1.0], [5.0, 3.0, 2.0])) == []
    assert printed_time_sentences(runs([4.0, 4.2, 4.1], [5.0, 4.9, 5.1])) == []


def test_a_time_below_5_percent_of_the_wall_time_gets_a_remark():
    (sentence,) = printed_time_sentences(runs([0.2, 0.1, 0.06], [5.0, 3.0, 2.0]))  # 4, 3.3 and 3 %
    assert sentence.startswith("The time of ring is less than 5 % of the wall time of most runs")


@pytest.mark.parametrize(
    ("seconds", "wall_seconds"),
    [
        ([4.0, 4.8, 5.6], [5.0, 3.0, 2.0]),
        ([4.0, 2.0, 1.0], [5.0, 5.8, 7.0]),
        ([4.0, 2.0, 2.4], [5.0, 3.0, 2.0]),
    ],
    ids=["a sum over processes", "a start-up that grows", "from 2 to 4 processes"],
)
def test_times_and_wall_times_in_opposite_directions_get_a_remark(seconds, wall_seconds):
    (sentence,) = printed_time_sentences(runs(seconds, wall_seconds))
    assert sentence.startswith("The time of ring and the wall time of the runs change in opposite directions")


def test_runs_of_unknown_world_size_are_counted():
    table = runs([4.0, 2.0, 1.0], [5.0, 3.0, 2.0])
    assert world_sentences(table) == []
    assert world_sentences(table.assign(world_verified=[None, True, True])) == []
    (sentence,) = world_sentences(table.assign(world_verified=[None, True, False]))
    assert sentence.startswith("World size not verified in 1 of 2\u00a0valid runs.")
