#!/bin/bash
# idle.sh SECONDS: what the controller uses where it is seen: percent of a core, and resident memory in MB.
set -euo pipefail
pid=$(pgrep -f 'muster controller /')
# The nanoseconds that all threads ran: the ticks of /proc/PID/stat are too coarse for a process at rest.
ran() { cat "/proc/$pid/task/"*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }
before=$(ran)
sleep "$1"
after=$(ran)
awk -v ran="$((after - before))" -v s="$1" '/^VmRSS:/ { printf "%.4f %.1f\n", 100 * ran / 1e9 / s, $2 * 1024 / 1e6 }' "/proc/$pid/status"
