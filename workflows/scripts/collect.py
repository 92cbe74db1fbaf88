"""Gather the records and imports of a study into its runs table, side tables and the facts of its report."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflows.errors import one_line_errors

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def collect_study(
    study: Path,
    config: Mapping[str, Any],
    asked: str,
    *,
    runs: Path,
    parquet: Path,
    details: Path,
    facts: Path,
    published: Path,
) -> None:
    """Write the runs table as CSV and Parquet, the side tables, the facts, and the published figures.

    The imports, which take seconds, are here so that Ctrl-C during them ends the script with a single line.

    Parameters
    ----------
    study : Path
        Study file.
    config : mapping
        Snakemake's ``config``, which overrides keys of the study.
    asked : str
        Digest of the study when Snakemake read it; the study must not have changed since.
    runs, parquet, facts : Path
        Files to write.
    details, published : Path
        Folders to write.
    """
    from analysis.importers import write_derived
    from analysis.runs.side_tables import write_details
    from workflows.plan.plan import make_plan
    from workflows.results.collect import collect

    plan = make_plan(study, config)
    plan.asked.check_unchanged(asked)
    collected = collect(plan)
    collected.runs.to_csv(runs, index=False)
    collected.complete.to_parquet(parquet, index=False)
    write_details(collected.details, details)
    facts.write_text(json.dumps(collected.facts.as_json(), indent=1) + "\n")
    write_derived(collected.published, published)


if __name__ == "__main__":
    with one_line_errors():
        params, outputs = snakemake.params, snakemake.output
        collect_study(
            Path(params.study),
            snakemake.config,
            params.asked,
            runs=Path(outputs.runs),
            parquet=Path(outputs.parquet),
            details=Path(outputs.details),
            facts=Path(outputs.facts),
            published=Path(outputs.published),
        )
