#!/bin/bash
# idle.sh SECONDS: what the controller uses where it is seen: percent of a core, and resident memory in MB.
set -euo pipefail
pid=$(pgrep -f 'muster controller /')
# The CPU time of a process in nanoseconds. Threads that have ended count, which is why it is not the sum of those that
# there are; it is to 10 ms.
ran() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13) * 1e9 / hz }' "/proc/$pid/stat"; }
before=$(ran)
sleep "$1"
after=$(ran)
awk -v ran="$((after - before))" -v s="$1" '/^VmRSS:/ { printf "%.4f %.1f\n", 100 * ran / 1e9 / s, $2 * 1024 / 1e6 }' "/proc/$pid/status"
