"""Messages of a benchmark: sizes, memory and content."""

from __future__ import annotations

import mmap
from itertools import takewhile

PERIOD = 251
"""Period of the content: a prime, so that a shifted message is wrong."""


def powers(largest: int, smallest: int = 1) -> list[int]:
    """Return the powers of two from `smallest` (a power of two) to `largest`, in bytes."""
    return list(takewhile(lambda size: size <= largest, (smallest << exponent for exponent in range(64))))


def netpipe_sizes(largest: int, perturbation: int, between: int = 0) -> list[int]:
    """Return the ascending sizes of a sweep up to `largest`, in bytes: 0 and the powers of two.

    From 16 bytes on, sizes `perturbation` below and above each size are added, as NetPIPE does. From 16 bytes
    on, there are also `between` evenly spaced sizes between two powers.
    """
    steps = range(0, between + 1)
    near = {
        size * (between + 1 + step) // (between + 1) + change
        for size in powers(largest)
        for step in (steps if size >= 16 else [0])
        for change in ((-perturbation, 0, perturbation) if size >= 16 else [0])
    }
    return sorted({0, *(size for size in near if size <= largest)})


def pages(size: int) -> mmap.mmap:
    """Return memory of at least `size` bytes in pages of 4 KiB that have been written.

    Huge pages are refused. NumPy requests them from 4 MiB on, so its large messages are up to three times
    faster than messages of a C program. A page that was never written is a shared page of zeros, which is
    faster to send than a page with data.
    """
    memory = mmap.mmap(-1, max(size, mmap.PAGESIZE))
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    memory.write(b"\xff" * len(memory))
    return memory


def content(seed: int, size: int) -> bytes:
    """Return the content of a message, which differs in every byte from the content of the next 250 seeds."""
    start = seed % PERIOD
    period = bytes((start + index) % PERIOD for index in range(PERIOD))
    return (period * (size // PERIOD + 1))[:size]


def wrong_bytes(received: bytes, expected: bytes) -> int:
    """Count the bytes that differ between two messages of the same length."""
    if received == expected:
        return 0
    return sum(byte != right for byte, right in zip(received, expected, strict=True))
