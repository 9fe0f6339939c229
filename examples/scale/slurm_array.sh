#!/usr/bin/env bash
# One element of the array is one shard:
#
#   array=$(sbatch --parsable slurm_array.sh)
#   sbatch --dependency=afterok:"$array" slurm_merge.sh
#
# A single shard again, after a fault: sbatch --array=3 slurm_array.sh
#SBATCH --job-name=npukb
#SBATCH --array=1-16%8
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=npukb-%A-%a.log
set -euo pipefail

# Not SLURM_ARRAY_TASK_COUNT: that is 1 when a single shard is submitted again.
shards=16

for attempt in 1 2 3; do
    code=0
    npukb run --config run.yaml --jobs "$SLURM_CPUS_PER_TASK" \
        --shard "$SLURM_ARRAY_TASK_ID/$shards" --output_path shards || code=$?
    # 4 is a fault of the infrastructure: the same command tries again what it hit. Nothing else changes by itself.
    if [ "$code" -ne 4 ]; then
        exit "$code"
    fi
    echo "attempt $attempt left faults of the infrastructure" >&2
done
exit "$code"
