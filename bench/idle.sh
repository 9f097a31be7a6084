#!/bin/bash
# idle.sh SECONDS: what the controller uses where it is seen: percent of a core, and resident memory in MB.
set -euo pipefail
pid=$(pgrep -f 'muster controller /')
ticks() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
before=$(ticks)
sleep "$1"
after=$(ticks)
awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$1" '/^VmRSS:/ { printf "%.2f %.1f\n", 100 * ticks / hz / s, $2 * 1024 / 1e6 }' "/proc/$pid/status"
