#!/bin/bash
# start.sh COUNT COMMAND...: the milliseconds that each of COUNT runs of a command took.
set -euo pipefail
count=$1
shift
said=$(mktemp)
trap 'rm "$said"' EXIT
for ((i = 0; i < count; i++)); do
    began=$EPOCHREALTIME
    "$@" >/dev/null 2>"$said" || { cat "$said" >&2; exit 1; }
    ended=$EPOCHREALTIME
    awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.3f\n", 1000 * (b - a) }'
done
