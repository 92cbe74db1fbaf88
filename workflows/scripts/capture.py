"""Trace a case at a process count."""

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine, say_in
from workflows.study.cases import case_of_results
from workflows.study.interconnects import load_interconnect
from workflows.tracing.capture import capture
from workflows.tracing.request import TraceRequest

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def trace_case(request: TraceRequest, trace: Path, serial: Path | None, log: TextIO) -> None:
    """Make a trace while no other study measures on this machine, and write its summary to the log.

    `serial` is the trace on one process; None to make that trace.
    """
    with only_study_on_this_machine(say_in(log)):
        print(capture(request, trace, serial).summary(), file=log)


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
        inputs, params, wildcards = snakemake.input, snakemake.params, snakemake.wildcards
        base, serial, carrier = inputs.get("base"), inputs.get("serial"), Path(inputs.carrier)
        request = TraceRequest(
            case_of_results(wildcards.case, params.cases, inputs.prepared),
            int(wildcards.get("processes", 1)),
            Path(inputs.prepared),
            load_interconnect(carrier.stem, carrier.parent),
            snakemake.resources.run_seconds,
            params.steps,
            Path(base) if base else None,
            repeats=params.repeats,
            threads=int(wildcards.get("threads", 1)),
        )
        trace_case(request, Path(snakemake.output.trace), Path(serial) if serial else None, log)
