"""Numbers as text."""

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import analysis.presentation.axes
import analysis.presentation.drawing
import analysis.presentation.labels
import analysis.runs.kinds
from analysis.presentation import formats
from analysis.presentation.sentences import coverage_sentence

THIN = "\u202f"


@pytest.mark.parametrize(
    "module",
    [
        formats,
        analysis.runs.kinds,
        analysis.presentation.labels,
        analysis.presentation.axes,
        analysis.presentation.drawing,
    ],
    ids=lambda module: module.__name__,
)
def test_examples_in_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((3.14159, "3.14"), (9.999, "10.0"), (0.0456, "0.0456")),
        *((1961, "1961"), (12345.6, f"12{THIN}346"), (0, "0")),
    ],
)
def test_three_significant_digits_without_cutting_whole_numbers(value, text):
    assert formats.number(value) == text


def test_an_interval_has_the_decimals_of_its_estimate():
    assert formats.bracketed(3.4211, 3.4, 3.5) == "3.42 [3.40, 3.50]"
    assert formats.bracketed_percent(23.4, -1.26, 50) == "+23 [−1, +50]"
    assert formats.bracketed(3.4, 3.3, math.inf) == "3.40 [3.30, ∞]"


def test_without_interval_the_estimate_stands_alone():
    assert formats.bracketed(1961.0, math.nan, math.nan) == "1961"


@pytest.mark.parametrize("missing", [None, math.nan, ""])
def test_missing_is_a_dash(missing):
    assert formats.number(missing) == formats.seconds(missing) == formats.percent(missing) == formats.MISSING
    assert formats.bracketed(missing, 1, 2) == formats.p_value(missing) == formats.MISSING


@pytest.mark.parametrize(
    ("value", "text"), [(0.03125, "p = 0.031"), (0.5, "p = 0.50"), (0.0002, "p < 0.001"), (1, "p = 1.00")]
)
def test_p_values(value, text):
    assert formats.p_value(value) == text.replace(" ", THIN)


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_printed_numbers_are_within_half_of_the_third_digit(value):
    printed = float(formats.number(value).replace(THIN, ""))
    assert abs(printed - value) <= 0.5001 * 10 ** (math.floor(math.log10(value)) - 2) or value >= 100
    assert abs(printed - value) <= 0.5001 or value < 100


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 4))
def test_no_number_prints_as_nan_or_negative_zero(value, places):
    text = formats.fixed(value, places, signed=True)
    assert "nan" not in text.lower() and "inf" not in text
    assert not (set(text) <= set("−0.") and "−" in text)


def test_lists_in_sentences():
    assert formats.listed([]) == ""
    assert formats.listed(["a"]) == "a"
    assert formats.listed(["a", "b", "c"]) == "a, b and c"
    assert formats.counted(1, "block") == "1\u00a0block"
    assert formats.counted(6, "block") == "6\u00a0blocks"


def test_a_label_is_one_line_and_keeps_its_thin_spaces():
    assert analysis.presentation.labels.one_line("a\n b\t\x00c\u202ed 95\u202f%") == "a b c d 95\u202f%"


def test_the_coverage_that_was_simulated_for_the_next_smaller_number_of_blocks():
    five, nine, hundred = map(coverage_sentence, (5, 9, 100))
    assert "artificial data with 5 blocks. In this test, 9" in five
    assert "with 6 blocks" in nine and "with 30 blocks" in hundred
