"""Program with a ping-pong between two ranks of a launch, started by `workflows.measure.attestation`.

The other ranks sleep. The first of the two ranks prints a JSON object with three keys. ``latency_us`` is half
the shortest round trip of an empty message. ``bandwidth_MBps`` is the highest rate of a large message.
``library`` is the version that the MPI library reports.
"""

import json
import sys
import time

from mpi4py import MPI

LARGE_BYTES = 1_000_000
EACH_SECONDS = 0.05  # duration of the messages of one size, roughly
FEWEST, MOST = {0: 100, LARGE_BYTES: 3}, 1000  # round trips
NAP_SECONDS = 0.001


def shortest_one_way_seconds(leads: bool, peer: int, size_bytes: int) -> float:
    """Return half the shortest round trip to a peer, over the round trips of about `EACH_SECONDS`.

    Parameters
    ----------
    leads : bool
        Whether this rank sends first and chooses the number of round trips; its peer then does not.
    """
    comm = MPI.COMM_WORLD
    message = [bytearray(b"x" * size_bytes), size_bytes, MPI.BYTE]

    def half_round_trip() -> float:
        start = time.perf_counter()
        if leads:
            comm.Send(message, peer)
            comm.Recv(message, peer)
        else:
            comm.Recv(message, peer)
            comm.Send(message, peer)
        return (time.perf_counter() - start) / 2

    best = min(
        half_round_trip() for _ in range(FEWEST[size_bytes])
    )  # the first round trip makes the connection
    if leads:
        rounds = max(FEWEST[size_bytes], min(MOST, int(EACH_SECONDS / 2 / best)))
        comm.send(rounds, peer)
    else:
        rounds = comm.recv(source=peer)
    return min(best, *(half_round_trip() for _ in range(rounds)))


def main(first: int, second: int) -> None:
    """Measure between the ranks `first` and `second`, and wait until all ranks have ended."""
    rank = MPI.COMM_WORLD.rank
    if rank in (first, second):
        peer = second if rank == first else first
        empty, large = (shortest_one_way_seconds(rank == first, peer, size) for size in FEWEST)
        if rank == first:
            results = {"latency_us": empty * 1e6, "bandwidth_MBps": LARGE_BYTES / large / 1e6}
            library = MPI.Get_library_version().splitlines()[0].split(",")[0]
            print(json.dumps(results | {"library": " ".join(library.split())}), flush=True)
    ended = MPI.COMM_WORLD.Ibarrier()
    while not ended.Test():
        time.sleep(NAP_SECONDS)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
