#!/bin/bash
# pairs.sh HOW FROM COUNT DIR: the seconds to the first line of so many jobs, each on 2 powered-off nodes from node FROM on.
set -euo pipefail
for ((i = $2; i < $2 + 2 * $3; i += 2)); do
    "$(dirname "$0")/first.sh" "$1" 2 "gpu-queue-dy-p5e-nodes-[$i-$((i + 1))]" "$4" | cut -d' ' -f1
done
