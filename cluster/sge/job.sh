#!/bin/sh
# properties = {properties}
# The script of a job. It leaves its exit status where cluster/status.sh looks, and its output in a log.
# Snakemake fills in the braces.
cd "$SGE_O_WORKDIR" || exit 1
mkdir -p .snakemake/cluster_logs
( {exec_job} ) >".snakemake/cluster_logs/$JOB_ID.log" 2>&1
status=$?
echo $status >".snakemake/cluster_logs/$JOB_ID.status"
exit $status
