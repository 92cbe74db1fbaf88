"""One process's end of a pattern of traffic: it issues messages when due, and answers those of others.

A client has `WINDOW` messages under way at most; the others wait at the client. Whoever sends data announces
it and sends it at once, out of memory that is never written, so a buffer that was given to a message gets
free again without anything else happening: there is no circle of processes that wait for each other, at any
load. Nothing waits for one certain message: all requests are tested in turn.

What is under way when the time is over is brought to its end. A process that has nothing under way enters a
barrier that does not block, and goes on answering until all have entered it (Hoefler, Siebert, Lumsdaine,
Scalable communication protocols for dynamic sparse data exchange, 2010).
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from functools import partial

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workflows.benchmarks.messages import PERIOD, content, pages
from workflows.traffic.schedule import BUFFERS, HEAD_WORDS, WINDOW

DRAIN_SECONDS = 60.0
"""Time for what is under way when the time is over; beyond it something is wrong."""

_HEADS = 8
_HEAD_TAG = 0


class _Kind(IntEnum):
    """What a head, the small message before data or without any, says to whom it goes to."""

    WRITE = 0  # data follows
    READ = 1  # asks for data
    ANSWER = 2  # the data that was asked for follows
    DONE = 3  # what was written has arrived


class Endpoint:
    """One process.

    Parameters
    ----------
    largest : int
        Bytes of the largest message of any process.

    Attributes
    ----------
    wrong_bytes : int
        Bytes that this process received and that were not those that were sent, and bytes that a client and
        its target count differently.
    """

    def __init__(self, comm: MPI.Comm, largest: int) -> None:
        self.comm = comm.Dup()
        memory = pages(largest + PERIOD)
        memory[: largest + PERIOD] = content(0, largest + PERIOD)
        self.content = np.frombuffer(memory, np.uint8)
        self.free = [np.frombuffer(pages(largest), np.uint8) for _ in range(BUFFERS)]
        self.announced: deque[tuple[_Kind, int, int, int, int]] = deque()
        self.heads = [array("q", [0] * HEAD_WORDS) for _ in range(_HEADS)]
        self.requests: list[MPI.Request] = [
            self.comm.Recv_init([head, HEAD_WORDS, MPI.INT64_T], MPI.ANY_SOURCE, _HEAD_TAG)
            for head in self.heads
        ]
        self.handlers: list[Callable[[], None]] = [partial(self._heard, index) for index in range(_HEADS)]
        MPI.Prequest.Startall(self.requests)
        self.schedules = self.wrong_bytes = 0

    def close(self) -> None:
        """Give back what was asked of MPI; nothing may be under way."""
        for request in self.requests:
            request.Cancel()
            request.Wait()
            request.Free()
        self.comm.Free()

    def carry(self, messages: NDArray[np.void], seconds: float) -> NDArray[np.float64]:
        """Issue this process's messages and answer those of the others, together with all processes.

        Parameters
        ----------
        messages : structured array of `workflows.traffic.schedule.MESSAGE`
            Those that this process issues, ascending in time.
        seconds : float
            No message is issued later; the same for all processes.

        Returns
        -------
        array (messages,)
            When each was known here to have arrived, in seconds since the start; NaN if it was never
            issued, since the network, or its target, did not take those before it in time.

        Raises
        ------
        TimeoutError
            Something is under way `DRAIN_SECONDS` after the last message was issued.
        """
        due = messages["seconds"].tolist()
        self.messages = list(
            zip(*(messages[name].tolist() for name in ("destination", "bytes", "write")), strict=True)
        )
        self.arrived = [math.nan] * len(due)
        self.under_way: dict[int, int] = {}
        slots = set(range(WINDOW))
        self.claimed, self.served = ([0] * self.comm.size for _ in range(2))
        self.schedules += 1
        self.comm.Barrier()
        self.start = MPI.Wtime()
        issued, all_over = 0, None
        while True:
            now = MPI.Wtime() - self.start
            over = now >= seconds or issued == len(due)
            while not over and len(self.under_way) < WINDOW and due[issued] <= now:
                self._issue(min(slots - self.under_way.keys()), issued)
                issued += 1
                over = issued == len(due)
            if over and not self.under_way and all_over is None:
                all_over = self.comm.Ibarrier()
            if all_over is not None and all_over.Test():
                break
            if now > seconds + DRAIN_SECONDS:
                raise TimeoutError(self._stuck())
            self._progress()
        while len(self.requests) > _HEADS:
            self._progress()
        theirs = self.comm.alltoall(self.claimed)
        self.wrong_bytes += sum(abs(claim - own) for claim, own in zip(theirs, self.served, strict=True))
        return np.array(self.arrived)

    def _issue(self, slot: int, sequence: int) -> None:
        target, size, write = self.messages[sequence]
        self.under_way[slot] = sequence
        if write:
            self._send(_Kind.WRITE, target, slot, size, sequence)
        else:
            self._say(_Kind.READ, target, slot, size, sequence)

    def _say(self, kind: _Kind, target: int, slot: int, size: int, sequence: int) -> None:
        head = array("q", [kind, self.comm.rank, slot, size, sequence])
        self._add(self.comm.Isend([head, HEAD_WORDS, MPI.INT64_T], target, _HEAD_TAG), _nothing)

    def _send(self, kind: _Kind, target: int, slot: int, size: int, sequence: int) -> None:
        self._say(kind, target, slot, size, sequence)
        data = self._content(self.comm.rank, sequence, size)
        self._add(self.comm.Isend([data, size, MPI.BYTE], target, _tag(kind, slot)), _nothing)

    def _content(self, sender: int, sequence: int, size: int) -> NDArray[np.uint8]:
        """What a message must hold; it differs in every byte from the messages that its sender sends next."""
        first = (31 * sender + 7 * self.schedules + sequence) % PERIOD
        return self.content[first : first + size]

    def _add(self, request: MPI.Request, handler: Callable[[], None]) -> None:
        self.requests.append(request)
        self.handlers.append(handler)

    def _progress(self) -> None:
        """Handle whatever has come to its end."""
        ended = MPI.Request.Testsome(self.requests)
        if not ended:
            return
        for index in ended:
            self.handlers[index]()
        gone = {index for index in ended if index >= _HEADS}
        if gone:
            left = [index for index in range(len(self.requests)) if index not in gone]
            self.requests = [self.requests[index] for index in left]
            self.handlers = [self.handlers[index] for index in left]

    def _heard(self, index: int) -> None:
        kind, source, slot, size, sequence = self.heads[index]
        self.requests[index].Start()
        match kind:
            case _Kind.READ:
                self.served[source] += size
                self._send(_Kind.ANSWER, source, slot, size, sequence)
            case _Kind.DONE:
                self._completed(slot)
            case _:
                self.announced.append((_Kind(kind), source, slot, size, sequence))
                self._receive()

    def _receive(self) -> None:
        """Give buffers to data that was announced, in the order of the announcements."""
        while self.announced and self.free:
            kind, source, slot, size, sequence = self.announced.popleft()
            buffer = self.free.pop()
            request = self.comm.Irecv([buffer, size, MPI.BYTE], source, _tag(kind, slot))
            self._add(request, partial(self._received, kind, source, slot, size, sequence, buffer))

    def _received(
        self, kind: _Kind, source: int, slot: int, size: int, sequence: int, buffer: NDArray[np.uint8]
    ) -> None:
        self.wrong_bytes += int(np.count_nonzero(buffer[:size] != self._content(source, sequence, size)))
        self.free.append(buffer)
        if kind == _Kind.ANSWER:
            self._completed(slot)
        else:
            self.served[source] += size
            self._say(_Kind.DONE, source, slot, size, sequence)
        self._receive()

    def _completed(self, slot: int) -> None:
        sequence = self.under_way.pop(slot)
        self.arrived[sequence] = MPI.Wtime() - self.start
        target, size, _ = self.messages[sequence]
        self.claimed[target] += size

    def _stuck(self) -> str:
        """What is under way when nothing should be."""
        targets = sorted({self.messages[sequence][0] for sequence in self.under_way.values()})
        waits = f"for process {', '.join(map(str, targets))}" if targets else "for others to end"
        return f"process {self.comm.rank} waits {waits} {DRAIN_SECONDS:g} s after the last message was issued"


def _tag(kind: _Kind, slot: int) -> int:
    """Tag of data, which no other message between the same two processes has at the same time."""
    return 1 + 2 * slot + (kind == _Kind.ANSWER)


def _nothing() -> None:
    """What follows when a message has left."""
