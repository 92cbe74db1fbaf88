"""Run the missing repetitions of a study."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflows.errors import one_line_errors
from workflows.measure.measure import measure_study
from workflows.plan.machine import end_with_snakemake
from workflows.plan.plan import make_plan
from workflows.results.partial import PartialReports, stopping_by_records

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def measure(
    study: Path, config: Mapping[str, Any], asked: str, first_block: bool, log: Path, records: Path
) -> None:
    """Run the missing repetitions, append the progress to `log`, and list the records in the file `records`.

    Parameters
    ----------
    study : Path
        Study file.
    config : mapping
        Snakemake's ``config``, which overrides keys of the study.
    asked : str
        Digest of the study when Snakemake read it; the study must not have changed since.
    first_block : bool
        Run only the first block, because simulated points come next.
    """
    plan = make_plan(study, config)
    plan.asked.check_unchanged(asked)
    reports = PartialReports(plan.asked.study.file, config, simulated=not first_block)
    report = reports.make if plan.asked.study.report_while_running else None
    with log.open("a") as file:
        measured = measure_study(plan, file, stopping_by_records, report, first_block)
    records.write_text("".join(f"{path}\n" for path in measured))


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors():
        params = snakemake.params
        measure(
            Path(params.study),
            snakemake.config,
            params.asked,
            params.get("first_block", False),
            Path(snakemake.log[0]),
            Path(snakemake.output.records),
        )
