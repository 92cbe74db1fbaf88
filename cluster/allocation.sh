#!/usr/bin/env bash
# Runs a whole study in one allocation, every run a step of it, without waiting in the queue in between:
#   sbatch --nodes=4 [options of sbatch] cluster/allocation.sh [study file] [options of Snakemake]
# from the folder that gets the results. It stops before the walltime and puts itself back into the queue until all is done.
#SBATCH --job-name=nodeworth
#SBATCH --exclusive
#SBATCH --time=60
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:?is started by sbatch}"
# Slurm runs a copy of this script, and knows where the script itself is.
script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=\([^ ]*\).*/\1/p')
exec "$(dirname "$(dirname "$(readlink -f "$script")")")/.venv/bin/python" -P -m workflows.measure.in_allocation "$@"
