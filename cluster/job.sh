#!/bin/sh
# properties = {properties}
# What Snakemake submits to PBS, LSF and SGE. How it ended is written where status.sh looks, and what it printed beside
# it. (Snakemake fills this in: double braces are single ones.)
id=${{PBS_JOBID:-${{LSB_JOBID:-$JOB_ID}}}}
cd "${{PBS_O_WORKDIR:-${{SGE_O_WORKDIR:-$PWD}}}}" || exit 1
mkdir -p .snakemake/cluster_logs
( {exec_job} ) >".snakemake/cluster_logs/$id.log" 2>&1
status=$?
echo $status >".snakemake/cluster_logs/$id.status"
exit $status
