#!/bin/sh
# properties = {properties}
# The script of a job. It leaves its exit status where cluster/status.sh looks, and its output in a log.
# Snakemake fills in the braces.
mkdir -p .snakemake/cluster_logs
( {exec_job} ) >".snakemake/cluster_logs/$LSB_JOBID.log" 2>&1
status=$?
echo $status >".snakemake/cluster_logs/$LSB_JOBID.status"
exit $status
