"""Joules as Slurm's accounting tells them."""

import re

_WORD = re.compile(r"([\d.]+)([KMGTP]?)")
_PREFIXES = {prefix: 1000.0**power for power, prefix in enumerate(["", *"KMGTP"])}
_NOT_KNOWN = 2.0**63


def counted_joules(word: str) -> float | None:
    """Joules of a word (``1.53M``, ``1530000``); None where nothing was counted, for which Slurm writes 0."""
    found = _WORD.fullmatch(word)
    joules = float(found[1]) * _PREFIXES[found[2]] if found else 0.0
    return joules if 0 < joules < _NOT_KNOWN else None
