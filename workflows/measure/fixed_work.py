"""A fixed piece of work on a core, for `workflows.measure.speed`: it needs nothing but Python itself.

Prints how long its two parts took, in seconds. The one computes and hardly touches memory, the other copies
more memory than a cache holds. All begin at the same moment, since cores that stream share the memory.
"""

import hashlib
import sys
import time

ROUNDS = 100_000  # of a hash, some 50 ms
COPIED_BYTES, COPIES = 1 << 25, 8  # some 50 ms


def main(start: float) -> None:
    """Work from the time `start` on, in seconds since 1970, or at once where that is over."""
    target, source = memoryview(bytearray(COPIED_BYTES)), memoryview(bytearray(COPIED_BYTES))
    target[:] = source  # the kernel gives the memory
    time.sleep(max(start - time.time(), 0))
    began = time.perf_counter()
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", ROUNDS)
    computed = time.perf_counter()
    for _ in range(COPIES):
        target[:] = source
    print(computed - began, time.perf_counter() - computed, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
