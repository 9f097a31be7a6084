#!/bin/bash
# pairs.sh HOW FROM DIR: the seconds to the first line of 9 jobs, each on 2 powered-off nodes from node FROM on.
set -euo pipefail
for ((i = $2; i < $2 + 18; i += 2)); do
    "$(dirname "$0")/first.sh" "$1" 2 "gpu-queue-dy-p5e-nodes-[$i-$((i + 1))]" "$3" | cut -d' ' -f1
done
