"""Trace a case at a process count."""

from pathlib import Path

from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine
from workflows.study.cases import case_of_results
from workflows.study.interconnects import load_interconnect
from workflows.tracing.capture import capture
from workflows.tracing.request import TraceRequest

with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
    serial, carrier = snakemake.input.get("serial"), Path(snakemake.input.carrier)
    with only_study_on_this_machine(lambda line: print(line, file=log, flush=True)):
        request = TraceRequest(
            case_of_results(snakemake.wildcards.case, snakemake.params.cases, snakemake.input.prepared),
            int(snakemake.wildcards.get("processes", 1)),
            Path(snakemake.input.prepared),
            load_interconnect(carrier.stem, carrier.parent),
            snakemake.resources.run_seconds,
            snakemake.params.steps,
            Path(base) if (base := snakemake.input.get("base")) else None,
            repeats=snakemake.params.repeats,
            threads=int(snakemake.wildcards.get("threads", 1)),
        )
        trace = capture(request, Path(snakemake.output.trace), Path(serial) if serial else None)
    print(trace.summary(), file=log)
