"""Lines with which the output of programs begins."""

from __future__ import annotations

import re

MARKS = {
    "osu": re.compile(
        r"# OSU (?:MPI[ _])?(?P<title>.+?)(?: Test)? (?:v|\(Version )(?P<version>\d[\w.+-]*)\)?$"
    ),
    "imb": re.compile(r"#\s+Intel ?\(R\) MPI Benchmark|# Benchmarking (?P<name>\S+)"),
    "perftest": re.compile(
        r"(?P<verb>RDMA_Write|RDMA_Read|Send) (?P<both>Bidirectional )?(?:Post List )?(?P<what>BW|Latency)"
        r" Test$"
    ),
    "qperf": re.compile(
        r"(?P<transport>tcp|udp|sctp|rc|uc|ud|xrc)_(?P<how>(?:rdma_(?:read|write)|bi)_)?(?P<what>bw|lat):$"
    ),
    "netperf": re.compile(
        r"(?:MIGRATED )?(?:(?P<protocol>TCP|UDP) (?P<what>STREAM|UNIDIRECTIONAL SEND|REQUEST/RESPONSE) TEST\b"
        r"|[A-Z][\w/ ]* TEST (?:from|to) .*\bAF_)"
    ),
    "sockperf": re.compile(r"sockperf(?:\[\w+\])?: "),
    "netpipe": re.compile(r"(?:\d+: +)?\d+ +bytes +\d+ +times +(?:-->|\d+ failures)"),
}
"""Beginning of a line that only this program prints, by format."""


def program_of(line: str) -> str:
    """Return the format whose output a line begins; empty if the line is no such mark."""
    line = line.strip()
    return next((name for name, mark in MARKS.items() if mark.match(line)), "")


def is_marked(text: str, name: str) -> bool:
    """Return whether a line is a mark of a format."""
    return any(MARKS[name].match(line.strip()) for line in text.splitlines())
