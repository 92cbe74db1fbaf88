"""Errors are reported in one line."""

import pytest


def refusal(error, call, *given, **named):
    """The line with which a call is refused."""
    with pytest.raises(error) as raised:
        call(*given, **named)
    line = str(raised.value)
    assert "\n" not in line
    return line
