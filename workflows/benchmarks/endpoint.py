"""A process in a pattern of traffic: it issues its messages when they are due, and answers other processes.

A client has at most `WINDOW` messages under way; further messages wait at the client. A sender announces data
and sends the data at once, from memory that is never written. So each buffer becomes free again by itself,
and processes never wait for each other in a circle, at any load. All requests are tested together.

Messages that are under way at the end of the time are completed. A process without messages under way enters
a non-blocking barrier, and answers until all processes have entered it (Hoefler, Siebert, Lumsdaine, Scalable
communication protocols for dynamic sparse data exchange, 2010).
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
"""Maximum time for messages under way at the end. Longer times are an error."""

_HEADS = 8
"""Persistent requests that receive heads. They are the first of all requests, and are never removed."""
_HEAD_TAG = 0


class _Kind(IntEnum):
    """Meaning of a head, the small message that precedes data or answers."""

    WRITE = 0  # data follows
    READ = 1  # asks for data
    ANSWER = 2  # the requested data follows
    DONE = 3  # the written data has arrived


class Endpoint:
    """One process in a pattern of traffic.

    Parameters
    ----------
    largest : int
        Bytes of the largest message of any process.

    Attributes
    ----------
    wrong_bytes : int
        Number of received bytes that differ from the sent bytes, and of bytes that a client and its target
        count differently.
    """

    def __init__(self, comm: MPI.Comm, largest: int) -> None:
        self.comm = comm.Dup()
        memory = pages(largest + PERIOD)
        memory[: largest + PERIOD] = content(0, largest + PERIOD)
        self.content = np.frombuffer(memory, np.uint8)
        self.free = [np.frombuffer(pages(largest), np.uint8) for _ in range(BUFFERS)]
        self.announced: deque[tuple[_Kind, int, int, int, int]] = deque()
        self.heads = [array("q", [0] * HEAD_WORDS) for _ in range(_HEADS)]
        self.head_requests = [
            self.comm.Recv_init([head, HEAD_WORDS, MPI.INT64_T], MPI.ANY_SOURCE, _HEAD_TAG)
            for head in self.heads
        ]
        self.requests: list[MPI.Request] = [*self.head_requests]
        self.handlers: list[Callable[[], None]] = [partial(self._read_head, index) for index in range(_HEADS)]
        MPI.Prequest.Startall(self.head_requests)
        self.schedules = self.wrong_bytes = 0

    def close(self) -> None:
        """Free the requests and the communicator. Nothing may be under way."""
        for request in self.head_requests:
            request.Cancel()
            request.Wait()
            request.Free()
        self.comm.Free()

    def carry(self, messages: NDArray[np.void], seconds: float) -> NDArray[np.float64]:
        """Issue the messages of this process, and answer other processes. All processes call it together.

        Parameters
        ----------
        messages : structured array of `workflows.traffic.schedule.MESSAGE`
            Messages of this process, in ascending order of time.
        seconds : float
            No message is issued later. All processes have the same value.

        Returns
        -------
        array (messages,)
            Time in seconds after the start when this process learned of each arrival. NaN if the message was
            never issued, because the network or its target was too slow.

        Raises
        ------
        TimeoutError
            A message is under way `DRAIN_SECONDS` after `seconds`.
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
        issued = 0
        barrier: MPI.Request | None = None
        while True:
            now = MPI.Wtime() - self.start
            is_over = now >= seconds or issued == len(due)
            while not is_over and len(self.under_way) < WINDOW and due[issued] <= now:
                self._issue(min(slots - self.under_way.keys()), issued)
                issued += 1
                is_over = issued == len(due)
            if is_over and not self.under_way and barrier is None:
                barrier = self.comm.Ibarrier()
            if barrier is not None and barrier.Test():
                break
            if now > seconds + DRAIN_SECONDS:
                raise TimeoutError(self._stuck())
            self._progress()
        while len(self.requests) > _HEADS:
            self._progress()
        claims = self.comm.alltoall(self.claimed)
        self.wrong_bytes += sum(
            abs(claim - bytes_served) for claim, bytes_served in zip(claims, self.served, strict=True)
        )
        return np.array(self.arrived)

    def _issue(self, slot: int, sequence: int) -> None:
        target, size, write = self.messages[sequence]
        self.under_way[slot] = sequence
        if write:
            self._send(_Kind.WRITE, target, slot, size, sequence)
        else:
            self._send_head(_Kind.READ, target, slot, size, sequence)

    def _send_head(self, kind: _Kind, target: int, slot: int, size: int, sequence: int) -> None:
        head = array("q", [kind, self.comm.rank, slot, size, sequence])
        self._add(self.comm.Isend([head, HEAD_WORDS, MPI.INT64_T], target, _HEAD_TAG), _nothing)

    def _send(self, kind: _Kind, target: int, slot: int, size: int, sequence: int) -> None:
        self._send_head(kind, target, slot, size, sequence)
        data = self._content(self.comm.rank, sequence, size)
        self._add(self.comm.Isend([data, size, MPI.BYTE], target, _tag(kind, slot)), _nothing)

    def _content(self, sender: int, sequence: int, size: int) -> NDArray[np.uint8]:
        """Return the content of a message. It differs in every byte from the sender's next messages."""
        first = (31 * sender + 7 * self.schedules + sequence) % PERIOD
        return self.content[first : first + size]

    def _add(self, request: MPI.Request, handler: Callable[[], None]) -> None:
        self.requests.append(request)
        self.handlers.append(handler)

    def _progress(self) -> None:
        """Call the handlers of complete requests, then remove these requests. Requests for heads stay."""
        complete = MPI.Request.Testsome(self.requests)
        if not complete:
            return
        for index in complete:
            self.handlers[index]()
        finished = {index for index in complete if index >= _HEADS}
        if finished:
            kept = [index for index in range(len(self.requests)) if index not in finished]
            self.requests = [self.requests[index] for index in kept]
            self.handlers = [self.handlers[index] for index in kept]

    def _read_head(self, index: int) -> None:
        kind, source, slot, size, sequence = self.heads[index]
        self.head_requests[index].Start()
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
        """Receive announced data into free buffers, in the order of the announcements."""
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
            self._send_head(_Kind.DONE, source, slot, size, sequence)
        self._receive()

    def _completed(self, slot: int) -> None:
        sequence = self.under_way.pop(slot)
        self.arrived[sequence] = MPI.Wtime() - self.start
        target, size, _ = self.messages[sequence]
        self.claimed[target] += size

    def _stuck(self) -> str:
        """Describe the messages that are under way too long."""
        targets = sorted({self.messages[sequence][0] for sequence in self.under_way.values()})
        waits = f"for process {', '.join(map(str, targets))}" if targets else "for others to end"
        return f"process {self.comm.rank} waits {waits} {DRAIN_SECONDS:g} s after the last message was issued"


def _tag(kind: _Kind, slot: int) -> int:
    """Return the tag of data, which is unique among the messages under way between two processes."""
    return 1 + 2 * slot + (kind == _Kind.ANSWER)


def _nothing() -> None:
    """Do nothing: a message that was sent needs no further step."""
