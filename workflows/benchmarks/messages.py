"""Messages of a benchmark: their sizes, the memory that they are in, and what they must hold."""

from __future__ import annotations

import mmap
from itertools import takewhile

PERIOD = 251
"""Length after which the content repeats: a prime, so that a shifted message is wrong."""


def powers(largest: int, smallest: int = 1) -> list[int]:
    """Powers of two from `smallest`, itself a power of two, to `largest`, in bytes."""
    return list(takewhile(lambda size: size <= largest, (smallest << exponent for exponent in range(64))))


def netpipe_sizes(largest: int, perturbation: int, between: int = 0) -> list[int]:
    """Sizes of a sweep, rising: 0, the powers of two, and from 16 bytes on those just below and above each.

    Nothing above `largest` is sent; a `perturbation` of 0 gives the powers alone. From 16 bytes on there are
    also so many sizes `between` two powers, evenly spaced.
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
    """Memory of at least `size` bytes in touched pages of 4 KiB.

    The kernel is asked for no huge pages: NumPy asks for them from 4 MiB on, which makes large messages up
    to three times faster than those of a C program. A page that was never written is a shared page of
    zeros, which is faster to send than any real one.
    """
    memory = mmap.mmap(-1, max(size, mmap.PAGESIZE))
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    memory.write(b"\xff" * len(memory))
    return memory


def content(seed: int, size: int) -> bytes:
    """Content of a message of `size` bytes; it differs in every byte from that of the next 250 seeds."""
    start = seed % PERIOD
    period = bytes((start + index) % PERIOD for index in range(PERIOD))
    return (period * (size // PERIOD + 1))[:size]


def wrong_bytes(got: bytes, wanted: bytes) -> int:
    """Count the bytes that differ between two messages of one length."""
    return 0 if got == wanted else sum(byte != right for byte, right in zip(got, wanted, strict=True))
