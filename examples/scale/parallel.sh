#!/usr/bin/env bash
# A run in shards on one machine, a few at a time:
#
#   parallel.sh SHARDS FOLDER OPTIONS OF npukb run …
#   AT_ONCE=4 parallel.sh 16 merged --config run.yaml --jobs 2
#
# With GNU parallel where it is installed, else with xargs. The same command goes on where it stopped.
set -euo pipefail

shards=$1 folder=$2
shift 2
parts="$folder.shards"

if command -v parallel > /dev/null; then
    # --quote: options keep their spaces and quotes. --retries: a fault of the machine is tried again.
    # For several machines that share the folder add --sshlogin host1,host2 --workdir . here.
    seq "$shards" | parallel --quote --jobs "${AT_ONCE:-2}" --retries 3 \
        npukb run "$@" --shard "{}/$shards" --output_path "$parts"
else
    seq "$shards" | xargs -P "${AT_ONCE:-2}" -I '{}' \
        npukb run "$@" --shard "{}/$shards" --output_path "$parts"
fi

npukb merge "$parts"/*of"$shards" --out "$folder"
