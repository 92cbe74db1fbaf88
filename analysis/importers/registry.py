"""All importers."""

from __future__ import annotations

from analysis.importers import (
    imb,
    iperf3,
    jube,
    netperf,
    netpipe,
    osu,
    perftest,
    qperf,
    reframe,
    sacct,
    sockperf,
    tables,
)
from analysis.importers.importer import Importer

IMPORTERS: tuple[Importer, ...] = (
    tables.RUNS_TABLE,
    tables.CURVE_TABLE,
    tables.DERIVED_TABLE,
    sacct.IMPORTER,
    osu.IMPORTER,
    imb.IMPORTER,
    netpipe.IMPORTER,
    perftest.IMPORTER,
    qperf.IMPORTER,
    iperf3.IMPORTER,
    netperf.IMPORTER,
    sockperf.IMPORTER,
    reframe.PERFLOG,
    reframe.REPORT,
    jube.IMPORTER,
)
"""The first importer that recognises a file reads it. `jube.IMPORTER` recognises any table with a
heading, so it is last."""
