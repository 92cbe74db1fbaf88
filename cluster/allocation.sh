#!/usr/bin/env bash
# Runs a whole study in one allocation, every run a step of it, without waiting in the queue in between:
#   sbatch --nodes=4 [options of sbatch] cluster/allocation.sh [study file] [options of Snakemake]
# from the project's folder. It stops before the walltime and puts itself back into the queue until all is done.
#SBATCH --job-name=nodeworth
#SBATCH --exclusive
#SBATCH --time=60
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:?is started by sbatch}"
exec .venv/bin/python -m workflows.measure.in_allocation "$@"
