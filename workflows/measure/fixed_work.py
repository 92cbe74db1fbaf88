"""Program with a fixed piece of work for a core, started by `workflows.measure.speed`.

It prints the seconds of its two parts. The first part computes and hardly uses memory. The second part copies
more memory than a cache holds. All cores begin at the same moment, because they share the memory bandwidth.
The program needs only the standard library.
"""

import hashlib
import sys
import time

ROUNDS = 100_000  # of a hash, about 50 ms
COPIED_BYTES, COPIES = 1 << 25, 8  # about 50 ms


def main(start: float) -> None:
    """Time the two parts from `start` on (seconds since 1970), or at once if `start` has passed."""
    target, source = memoryview(bytearray(COPIED_BYTES)), memoryview(bytearray(COPIED_BYTES))
    target[:] = source  # the kernel provides memory only when it is first written
    time.sleep(max(start - time.time(), 0))
    began = time.perf_counter()
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", ROUNDS)
    computed = time.perf_counter()
    for _ in range(COPIES):
        target[:] = source
    print(computed - began, time.perf_counter() - computed, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
