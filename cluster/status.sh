#!/bin/sh
# status.sh SCHEDULER JOB: prints running, success or failed, for Snakemake. See workflows/jobs/status.py.
root=$(dirname "$(dirname "$(readlink -f "$0")")")
python=$root/.venv/bin/python
[ -x "$python" ] || python=python3
PYTHONPATH=$root exec "$python" -m workflows.jobs.status "$@"
