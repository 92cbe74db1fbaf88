"""Measure the speed of a core of this machine, or the bandwidth of memory that its cores share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine, say_in
from workflows.simulation.processor import probe, probe_bandwidth

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def write_probe(measure: Callable[[], object], probed: Path, log: TextIO) -> None:
    """Call `measure` while no other study measures on this machine, and write its result as JSON."""
    with only_study_on_this_machine(say_in(log)):
        result = measure()
    probed.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
        measure = probe if snakemake.rule == "probe" else probe_bandwidth
        write_probe(measure, Path(snakemake.output.probed), log)
