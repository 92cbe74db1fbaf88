# Nodeworth: how many nodes is your interconnect worth?
#   snakemake [--configfile config/studies/smoke.yaml] [--config again=CASE/INTERCONNECT]
# The rule files share a single name with this file: `plan`, the study made ready to run. They import all others.
import sys
from pathlib import Path

from snakemake.utils import min_version

from workflows.errors import GOES_ON, one_line_errors
from workflows.jobs.cluster import site_file
from workflows.jobs.profile import check_profiles
from workflows.measure.stopped import report_stopped
from workflows.paths import STUDIES
from workflows.plan.hooks import begin_run
from workflows.plan.jobs import in_jobs
from workflows.plan.plan import make_plan
from workflows.plan.software import software_of_jobs
from workflows.results.partial import report_while_jobs_run

min_version("9.12")

# A study given with --configfile replaces the default study: nothing of the default leaks into it.
if not workflow.config_settings.configfiles:

    configfile: str(STUDIES / "laptop.yaml")


study_file = Path(workflow.configfiles[-1])
if isinstance(config.get("cluster"), str):
    config["cluster"] = str(site_file(config["cluster"], study_file))

with one_line_errors(after_interrupt=GOES_ON):
    check_profiles(sys.argv, config)
    is_dry_run = workflow.output_settings.dryrun
    has_program = software_of_jobs(config, workflow.deployment_settings, is_dry_run)
    plan = make_plan(study_file, config, has_program, is_dry_run)
    study_run = begin_run(plan, workflow, again=config.get("again"))
    plan = study_run.plan


pathvars:
    results=str(plan.paths.results),


if plan.here.cluster and plan.here.cluster.container:

    container: plan.here.cluster.container


wildcard_constraints:
    processes=r"\d+",
    threads=r"\d+",


rule all:
    input:
        # Files that an interrupted rule has removed are made again although the report is there.
        multiext("<results>/runs", ".csv", ".parquet"),
        multiext("<results>/facts", ".json"),
        collect(
            "<results>/{folder}", folder=["details", "published", "tables", "figures"]
        ),
        multiext("<results>/report", ".pdf", ".html", ".json"),
        multiext("<results>/proposal", ".pdf", ".tex", ".docx"),


include: "workflows/rules/prepare.smk"
include: f"workflows/rules/{'run_batches' if in_jobs(plan) else 'run'}.smk"
include: "workflows/rules/simulate.smk"
include: "workflows/rules/collect.smk"
include: "workflows/rules/analyse.smk"
include: "workflows/rules/report.smk"


onstart:
    with one_line_errors():
        study_run.start()
        report_while_jobs_run(plan, config)


onsuccess:
    study_run.end()


onerror:
    with one_line_errors():
        report_stopped(plan)
