#!/bin/bash
# pss.sh NAME: the memory of all processes of a name that are seen here, in MB, shared pages divided by those who share them.
set -euo pipefail
pgrep -x "$1" | while read -r pid; do cat "/proc/$pid/smaps_rollup" 2>/dev/null || true; done |
    awk '/^Pss:/ { sum += $2; n++ } END { printf "%.1f %d\n", sum * 1024 / 1e6, n }'
