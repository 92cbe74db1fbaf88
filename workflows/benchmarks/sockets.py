"""Round trips and streams over TCP and UDP, below MPI: between the first and the last process.

MPI starts the processes and exchanges their addresses. No timed message goes through MPI. Sockets have the
options of the system, except that TCP does not delay small messages. Python adds microseconds per message.
"""

from __future__ import annotations

import fcntl
import os
import socket
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

from mpi4py import MPI

from workflows.benchmarks import percentile
from workflows.benchmarks.messages import content, wrong_bytes
from workflows.benchmarks.program import Result

INTERFACE = "NODEWORTH_INTERFACE"
"""Environment variable with the network interface (ib0 for IP over InfiniBand). By default, the first
interface that reaches the node of the other process is used."""

LARGEST_DATAGRAM = 65507
PERCENTILES = (5, 50, 95)
ANSWER_SECONDS = 0.1
"""Time without an answer after which a datagram counts as lost."""
QUIET_SECONDS = 0.05
"""Time without a datagram after which a receiver stops, if the sender is done."""
STUCK_SECONDS = 30.0
"""Time without data on a connection after which the run ends with an error."""
PAUSE_SECONDS = 0.0005
"""Time for which a sender sleeps if no datagram is due."""
COMPARED_EVERY = 64
"""Number of datagrams of which the first is compared byte by byte."""
_GET_ADDRESS = 0x8915
_NUMBER = struct.Struct("!Q")

Row = dict[str, Any]


@dataclass(frozen=True)
class Stream:
    """Counts at an end of a stream. `busy_seconds` is the CPU time of its process."""

    messages: int
    bytes: int
    seconds: float
    busy_seconds: float
    wrong_bytes: int = 0


def sockets(
    comm: MPI.Comm, round_trip_bytes: str, stream_bytes: str, rates: str | float, seconds: float
) -> Result:
    """Measure TCP and UDP.

    Parameters
    ----------
    round_trip_bytes, stream_bytes : str
        Sizes separated by blanks. Sizes above `LARGEST_DATAGRAM` are for TCP only.
    rates : str or float
        Rates of datagrams, as a share of the bandwidth of TCP. Datagrams are also sent at full speed.
    seconds : float
        Duration of all measurements.

    Returns
    -------
    dict
        ``seconds``: geometric mean of the median times of half a round trip.
        ``answer``: number of wrong bytes.
        ``rows``: for each ``transport`` (tcp, udp), ``test`` (pingpong, stream) and ``bytes``. A ping-pong
        has half a round trip (``latency_us_p50`` and so on). A stream has ``sent_MBps``, ``received_MBps``,
        ``offered_MBps`` (None at full speed), ``lost_percent``, and the busy cores of both ends.
    """
    if comm.size < 2:
        raise ValueError("sockets: 2 or more processes are needed, one at each end")
    trips, streams = (
        [int(size) for size in text.split()] for text in (str(round_trip_bytes), str(stream_bytes))
    )
    shares = [float(rate) for rate in str(rates).split()]
    datagrams = [size for size in streams if size <= LARGEST_DATAGRAM]
    parts = len(trips) + sum(size <= LARGEST_DATAGRAM for size in trips) + len(streams)
    share = seconds / (parts + len(datagrams) * (len(shares) + 1))
    link = Link(comm)
    rows = [link.tcp_round_trip(size, share) for size in trips]
    rows += [link.udp_round_trip(size, share) for size in trips if size <= LARGEST_DATAGRAM]
    tcp_rows = {size: link.tcp_stream(size, share) for size in streams}
    rows += tcp_rows.values()
    for size, factor in product(datagrams, (*shares, None)):
        tcp_rate = comm.bcast(tcp_rows[size].get("received_MBps"))
        rows.append(link.udp_stream(size, share, None if factor is None else factor * tcp_rate))
    wrong = comm.allreduce(link.wrong_bytes)
    if comm.rank != 0:
        return {}
    latencies = [row["latency_us_p50"] for row in rows if row.get("latency_us_p50")]
    return {"seconds": statistics.geometric_mean(latencies) / 1e6, "answer": wrong, "rows": rows}


class Link:
    """Sockets between the first and the last process. All ranks call each method; rank 0 gets its row."""

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm, self.last = comm, comm.size - 1
        self.wrong_bytes = 0
        self.address = self._address()

    def tcp_round_trip(self, size: int, seconds: float) -> Row:
        """Time messages of `size` bytes and their answers, over one connection."""
        sent = content(1, size)
        with self._connection() as connection:
            times: list[float] = []
            if self.comm.rank == 0:
                start = time.perf_counter()
                while not times or time.perf_counter() - start < seconds:
                    begin = time.perf_counter()
                    connection.sendall(sent)
                    got = _received(connection, size)
                    times.append(time.perf_counter() - begin)
                self.wrong_bytes += wrong_bytes(got, sent)
                connection.shutdown(socket.SHUT_WR)
            elif self.comm.rank == self.last:
                while got := _received(connection, size):
                    connection.sendall(got)
        return self._round_trip_row("tcp", size, times, None)

    def udp_round_trip(self, size: int, seconds: float) -> Row:
        """Time datagrams and their answers. A datagram is lost if its answer takes over `ANSWER_SECONDS`."""
        times: list[float] = []
        lost = 0
        with self._datagrams() as here:
            if self.comm.rank == 0:
                here.settimeout(ANSWER_SECONDS)
                start = time.perf_counter()
                while (not times and lost < 10) or time.perf_counter() - start < seconds:
                    sent = content(len(times) + lost, size)
                    begin = time.perf_counter()
                    here.send(sent)
                    got = _answer(here, sent)
                    if got is None:
                        lost += 1
                    else:
                        times.append(time.perf_counter() - begin)
                self.comm.send(None, self.last)
            elif self.comm.rank == self.last:
                for got in self._arriving(here, LARGEST_DATAGRAM):
                    here.send(got)
        return self._round_trip_row("udp", size, times, 100 * lost / max(len(times) + lost, 1))

    def tcp_stream(self, size: int, seconds: float) -> Row:
        """Stream messages of `size` bytes over one connection."""
        with self._connection() as connection:
            counts = None
            if self.comm.rank == 0:
                sent = content(1, size)
                counts = _timed(lambda: _sent(connection.sendall, lambda number: sent, size, seconds, None))
                connection.shutdown(socket.SHUT_WR)
            elif self.comm.rank == self.last:
                counts = _timed(lambda: _drained(connection, content(1, size)))
        return self._stream_row("tcp", size, None, counts)

    def udp_stream(self, size: int, seconds: float, rate_MBps: float | None) -> Row:  # noqa: N803
        """Stream datagrams of `size` bytes, at a rate or at full speed."""
        counts = None
        with self._datagrams() as here:
            if self.comm.rank == 0:
                body = content(1, size)

                def numbered(number: int) -> bytes:
                    return _NUMBER.pack(number)[-size:] + body[_NUMBER.size :]

                counts = _timed(lambda: _sent(here.send, numbered, size, seconds, rate_MBps))
                self.comm.send(None, self.last)
            elif self.comm.rank == self.last:
                body = content(1, size)[_NUMBER.size :]
                counts = _timed(lambda: _counted(self._arriving(here, size), body))
        return self._stream_row("udp", size, rate_MBps, counts)

    def _address(self) -> str:
        """Return the address of the last process: the loopback on one node, else a reachable address."""
        comm = self.comm
        hosts = comm.allgather(socket.gethostname())
        if hosts[0] == hosts[self.last]:
            return "127.0.0.1"
        offered: list[str] = comm.bcast(_addresses() if comm.rank == self.last else None, self.last)
        candidates = offered if comm.rank == 0 else []
        reachable: list[str] = comm.bcast([address for address in candidates if _leads_to(address)])
        if not reachable:
            raise ValueError(f"sockets: no network leads to {hosts[self.last]} (addresses there: {offered})")
        return reachable[0]

    @contextmanager
    def _connection(self) -> Iterator[socket.socket]:
        """Yield the connection between the two processes; on other ranks, an unconnected socket."""
        with socket.socket() as listener:
            connection = listener
            if self.comm.rank == self.last:
                listener.bind((self.address, 0))
                listener.listen(1)
            port = self.comm.bcast(_port(listener) if self.comm.rank == self.last else None, self.last)
            if self.comm.rank == 0:
                connection.connect((self.address, port))
            elif self.comm.rank == self.last:
                connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(STUCK_SECONDS)
            with connection:
                yield connection
                self.comm.Barrier()  # not after an error, which must end the run

    @contextmanager
    def _datagrams(self) -> Iterator[socket.socket]:
        """Yield datagram sockets that are connected to each other."""
        with socket.socket(type=socket.SOCK_DGRAM) as here:
            if self.comm.rank == self.last:
                here.bind((self.address, 0))
            port = self.comm.bcast(_port(here) if self.comm.rank == self.last else None, self.last)
            if self.comm.rank == 0:
                here.connect((self.address, port))
            back = self.comm.bcast(here.getsockname() if self.comm.rank == 0 else None)
            if self.comm.rank == self.last:
                here.connect(back)
            self.comm.Barrier()
            yield here
            self.comm.Barrier()

    def _arriving(self, here: socket.socket, largest: int) -> Iterator[bytes]:
        """Yield datagrams until the sender is done and no more datagrams arrive."""
        here.settimeout(QUIET_SECONDS)
        while True:
            try:
                yield here.recv(largest)
            except TimeoutError:
                if self.comm.Iprobe(0):
                    self.comm.recv(source=0)
                    return

    def _round_trip_row(self, transport: str, size: int, times: list[float], lost: float | None) -> Row:
        half = (
            {f"latency_us_p{share}": percentile(times, share) / 2 * 1e6 for share in PERCENTILES}
            if times
            else {}
        )
        return {
            "transport": transport,
            "test": "pingpong",
            "bytes": size,
            "n": len(times),
            "lost_percent": lost,
            **half,
        }

    def _stream_row(self, transport: str, size: int, rate: float | None, counts: Stream | None) -> Row:
        """Return a row from the counts of both ends. Rates of datagrams refer to the time of sending."""
        counts_of_ranks = self.comm.gather(counts)
        if counts_of_ranks is None:
            return {}
        out, back = counts_of_ranks[0], counts_of_ranks[self.last]
        self.wrong_bytes += back.wrong_bytes + (abs(out.bytes - back.bytes) if transport == "tcp" else 0)
        seconds = max(out.seconds, back.seconds) if transport == "tcp" else out.seconds
        return {
            "transport": transport,
            "test": "stream",
            "bytes": size,
            "n": out.messages,
            "offered_MBps": rate,
            "sent_MBps": out.bytes / seconds / 1e6,
            "received_MBps": back.bytes / seconds / 1e6,
            "lost_percent": 100 * (1 - back.messages / out.messages) if transport == "udp" else None,
            "sender_busy": out.busy_seconds / out.seconds,
            "receiver_busy": back.busy_seconds / back.seconds,
        }


def _timed(count: Callable[[], tuple[int, int, int]]) -> Stream:
    """Carry out one side of a stream; `count` returns its messages, bytes and wrong bytes."""
    begin, busy = time.perf_counter(), time.process_time()
    messages, moved, wrong = count()
    return Stream(messages, moved, time.perf_counter() - begin, time.process_time() - busy, wrong)


def _sent(
    send: Callable[[bytes], Any],
    message: Callable[[int], bytes],
    size: int,
    seconds: float,
    rate_MBps: float | None,  # noqa: N803
) -> tuple[int, int, int]:
    """Send for a time, at a rate or at full speed."""
    start, sent = time.perf_counter(), 0
    while not sent or (now := time.perf_counter() - start) < seconds:
        if sent and rate_MBps is not None and sent * size > now * rate_MBps * 1e6:
            time.sleep(PAUSE_SECONDS)
            continue
        send(message(sent))
        sent += 1
    return sent, sent * size, 0


def _drained(connection: socket.socket, message: bytes) -> tuple[int, int, int]:
    """Receive until the end, and compare whole messages."""
    count = moved = wrong = 0
    while got := _received(connection, len(message)):
        count, moved = count + 1, moved + len(got)
        if count % COMPARED_EVERY == 1:
            wrong += wrong_bytes(got, message[: len(got)])
    return count, moved, wrong


def _counted(arriving: Iterator[bytes], body: bytes) -> tuple[int, int, int]:
    """Count datagrams, and compare the bytes after the number in one of `COMPARED_EVERY`."""
    count = moved = wrong = 0
    for got in arriving:
        count, moved = count + 1, moved + len(got)
        if count % COMPARED_EVERY == 1:
            wrong += wrong_bytes(got[_NUMBER.size :], body)
    return count, moved, wrong


def _received(connection: socket.socket, size: int) -> bytes:
    """Receive a whole message; at the end of a connection, the rest of the last message, perhaps empty."""
    parts: list[bytes] = []
    missing = size
    while missing:
        part = connection.recv(missing)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _answer(here: socket.socket, sent: bytes) -> bytes | None:
    """Receive the answer to a datagram, ignoring late answers to others; None without an answer."""
    try:
        while (got := here.recv(LARGEST_DATAGRAM)) != sent:
            continue
    except TimeoutError:
        return None
    return got


def _port(here: socket.socket) -> int:
    port: int = here.getsockname()[1]
    return port


def _addresses() -> list[str]:
    """Return the IPv4 addresses of `INTERFACE`, or else of all interfaces except the loopback."""
    interface = os.environ.get(INTERFACE)
    address_of = {}
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, _GET_ADDRESS, struct.pack("256s", name.encode()[:15]))
            except OSError:  # an interface without an address
                continue
            address_of[name] = socket.inet_ntoa(answer[20:24])
    if interface:
        if interface not in address_of:
            raise ValueError(f"{INTERFACE}: {interface!r}: this node has {', '.join(address_of)}")
        return [address_of[interface]]
    return [address for name, address in address_of.items() if name != "lo"]


def _leads_to(address: str) -> bool:
    """Whether this node reaches an address, through `INTERFACE` if it is set."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
            return not os.environ.get(INTERFACE) or probe.getsockname()[0] in _addresses()
        except OSError:
            return False
