"""
Asks the tools of a cluster's nodes which interconnects there are, and plays ping-pong over each, in a job of two nodes.
`./run-study --interconnects --profile cluster` starts it; no study includes this file.

OUTPUTS:

    found       = results/.interconnects/found.json
"""

from pathlib import Path

from workflows.discovery.request import FOUND, job_resources
from workflows.errors import one_line_errors
from workflows.jobs.cluster import read_cluster, site_file
from workflows.plan.jobs import site_modules
from workflows.plan.software import software_of_jobs

site = site_file(config["cluster"], Path("results"))

with one_line_errors():
    software_of_jobs({**config, "cluster": str(site)}, workflow.deployment_settings)
    cluster = read_cluster(site)
    resources_of_job = job_resources(cluster)


if cluster.container:

    container: cluster.container


rule find_interconnects:
    output:
        found=str(FOUND),
    log:
        str(FOUND.with_name("find.log")),
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(cluster),
    resources:
        **resources_of_job,
    params:
        site=str(site),
    message:
        "Finding the interconnects of the cluster"
    script:
        "../scripts/find_interconnects.py"
