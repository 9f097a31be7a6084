#!/bin/bash
# start.sh COUNT COMMAND...: the milliseconds that each of COUNT runs of a command took.
set -euo pipefail
count=$1
shift
for ((i = 0; i < count; i++)); do
    began=$EPOCHREALTIME
    "$@" >/dev/null
    ended=$EPOCHREALTIME
    awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.3f\n", 1000 * (b - a) }'
done
