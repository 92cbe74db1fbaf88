"""Numbers, intervals and lists as text.

A missing value becomes `MISSING`, never ``nan``. A narrow no-break space separates a number from its unit,
and groups of three digits. A no-break space separates a number from a noun.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from analysis.runs.frames import is_missing

THIN = "\N{NARROW NO-BREAK SPACE}"
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MISSING = "\N{EN DASH}"
MOST = 3
"""Most names that a sentence lists."""


def decimals(value: float, digits: int = 3) -> int:
    """Return the number of decimal places that shows a value with `digits` significant digits.

    A value with more digits before the decimal point takes no decimal places.

    Examples
    --------
    >>> decimals(3.14159), decimals(31.4159), decimals(31415.9), decimals(0.00314159)
    (2, 1, 0, 5)
    """
    if is_missing(value) or not math.isfinite(value) or value == 0:
        return 0
    rounded = float(f"{abs(value):.{digits - 1}e}")
    return max(0, digits - 1 - math.floor(math.log10(rounded)))


def fixed(value: float, places: int, signed: bool = False) -> str:
    """Write a value with `places` decimals; five or more integer digits are grouped.

    Examples
    --------
    >>> fixed(-1234.56, 1), fixed(2, 0, signed=True)
    ('−1234.6', '+2')
    """
    if is_missing(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = f"{abs(value):,.{places}f}"
    if abs(value) < 9999.5:
        text = text.replace(",", "")
    sign = MINUS if value < 0 else "+" if signed and value > 0 else ""
    if not any(digit in text for digit in "123456789"):
        sign = ""
    return sign + text.replace(",", THIN)


def number(value: float, digits: int = 3) -> str:
    """Write a value with `digits` significant digits.

    Examples
    --------
    >>> number(3.14159), number(1961), number(0.045612)
    ('3.14', '1961', '0.0456')
    """
    return fixed(value, decimals(value, digits))


def exact(value: float) -> str:
    """Write a value with all its digits, up to eight, and large exponents as powers of ten.

    Examples
    --------
    >>> exact(117.273), exact(-152.4738), exact(1e-8), exact(2.5e-8)
    ('117.273', '−152.4738', '10⁻⁸', '2.5 × 10⁻⁸')
    """
    mantissa, _, exponent = f"{value:.8g}".partition("e")
    mantissa = mantissa.replace("-", MINUS)
    if not exponent:
        return mantissa
    power = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
    return power if mantissa == "1" else f"{mantissa} × {power}"


def whole(value: float) -> str:
    """Write a number without decimals, such as a count."""
    return fixed(value, 0)


def seconds(value: float) -> str:
    """Write a time in seconds with its unit."""
    return MISSING if is_missing(value) else f"{number(value)}{THIN}s"


def percent(value: float, signed: bool = False, places: int | None = None) -> str:
    """Write a percentage without decimals from 10 % on and with one below, unless `places` is given.

    Examples
    --------
    >>> percent(23.4), percent(-3.14, signed=True)
    ('23\u202f%', '−3.1\u202f%')
    """
    if is_missing(value):
        return MISSING
    return f"{fixed(value, percent_places(value) if places is None else places, signed)}{THIN}%"


def percent_places(value: float) -> int:
    """Return the number of decimals with which percentages are written: 0 from 10 % on, else 1."""
    return 0 if abs(value) >= 9.95 else 1


def bracketed(value: float, low: float, high: float) -> str:
    """Write an estimate with its interval, ``3.42 [3.38, 3.47]``, or the estimate alone."""
    return _bracketed(value, low, high, decimals(value))


def bracketed_percent(value: float, low: float, high: float) -> str:
    """Write a signed percentage with its interval and without the unit: ``+23 [+18, +29]``."""
    return _bracketed(value, low, high, percent_places(value), signed=True)


def _bracketed(value: float, low: float, high: float, places: int, signed: bool = False) -> str:
    estimate = fixed(value, places, signed)
    return estimate if is_missing(value) else f"{estimate}{ends(low, high, places, signed)}"


def ends(low: float, high: float, places: int, signed: bool = False) -> str:
    """Write the interval that follows an estimate, `` [3.38, 3.47]``; empty without an interval.

    One end is missing if runs were stopped at their time limit.
    """
    if is_missing(low) and is_missing(high):
        return ""
    return f" [{fixed(low, places, signed)}, {fixed(high, places, signed)}]"


def percent_with_interval(value: float, low: float, high: float, signed: bool = False) -> str:
    """Write a percentage with its interval, ``+23 % [+18, +29]``, or the percentage alone."""
    places = percent_places(value)
    return f"{percent(value, signed, places)}{ends(low, high, places, signed)}"


def spanned(low: str, high: str) -> str:
    """Write a range, ``27 to 30``, or one number if both are the same."""
    return low if low == high else f"{low} to {high}"


def percents(values: Iterable[float]) -> str:
    """Write the range of the absolute values of percentages."""
    sizes = sorted(abs(value) for value in values)
    return spanned(percent(sizes[0]), percent(sizes[-1]))


def all_of(number: int) -> str:
    """Write that a sentence refers to all things of a list: ``it``, ``both``, ``all 3``."""
    return {1: "it", 2: "both"}.get(number, f"all {number}")


def plain(value: float) -> str:
    """Write a count that may be interpolated: with one decimal, unless it is a whole number."""
    return fixed(value, 0 if is_missing(value) or value == math.floor(value) else 1)


def p_value(value: float, symbol: bool = True) -> str:
    """Write a p-value as ``p = 0.031`` or ``p < 0.001``. Without `symbol`, ``p`` is omitted."""
    if is_missing(value):
        return MISSING
    if value < 0.001:
        return f"p{THIN}<{THIN}0.001" if symbol else f"<{THIN}0.001"
    digits = f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
    return f"p{THIN}={THIN}{digits}" if symbol else digits


def listed(items: Iterable[str], last: str = "and") -> str:
    """Join items to a list in a sentence: ``a, b and c``."""
    items = list(items)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def joined(clauses: Sequence[str], starts: tuple[str, ...]) -> str:
    """Join clauses to sentences, without the last full stop.

    Clauses after the first begin with a capital letter if they begin with one of the words of `starts`. Other
    clauses begin with the name of an interconnect, which keeps its case.

    Examples
    --------
    >>> joined(["the first rises", "the second rises", "swift stops"], ("the ",))
    'the first rises. The second rises. swift stops'
    """
    first, *others = clauses
    sentences = (f"{text[0].upper()}{text[1:]}" if text.startswith(starts) else text for text in others)
    return ". ".join([first, *sentences])


def named_or_counted(names: Iterable[str], noun: str = "interconnect") -> str:
    """List each name once, or count the names if there are more than `MOST`."""
    names = list(dict.fromkeys(names))
    return listed(names) if len(names) <= MOST else counted(len(names), noun)


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Write a count with its noun: ``1 block``, ``6 blocks``, ``2 processes``."""
    noun = singular if count == 1 else plural or f"{singular}{'es' if singular.endswith('s') else 's'}"
    return f"{whole(count)}{SPACE}{noun}"
