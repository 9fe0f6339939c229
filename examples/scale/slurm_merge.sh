#!/usr/bin/env bash
# The shards of slurm_array.sh as one run. What is missing or unfinished is named, and nothing is written then.
#SBATCH --job-name=npukb-merge
#SBATCH --time=00:30:00
#SBATCH --output=npukb-merge-%j.log
set -euo pipefail

npukb merge shards/*of16 --out merged
