#!/bin/bash
# top.sh CLUSTER SECONDS: what `muster top` uses in a terminal of 120 by 40: percent of a core of its own and, apart, of
# the programs of Slurm's that it asks, and its resident memory in MB, three lines.
set -euo pipefail
socket=$WORK/tmux
tmux() { command tmux -f /dev/null -S "$socket" "$@"; }
trap 'tmux kill-server 2>/dev/null || true' EXIT
tmux new-session -d -x 120 -y 40 "exec $(printf '%q ' "$MUSTER" top --cluster "$1")"
# It is measured when it shows the jobs with their losses.
end=$((SECONDS + 60))
until tmux capture-pane -p | grep -q 'Batch\|LOSS'; do
    [ "$SECONDS" -lt "$end" ] || { echo "bench: no frame with jobs within 60 s: $(tmux capture-pane -p)" >&2; exit 1; }
    sleep 0.2
done
pid=$(tmux display-message -p '#{pane_pid}')

# tree PID: it and all that it has started.
tree() {
    local child
    echo "$1"
    for child in $(pgrep --parent "$1"); do tree "$child"; done
}
# ran FIELD FIELD: CPU seconds of the whole tree: 12 and 13 its own, 14 and 15 of those that have ended.
ran() {
    tree "$pid" | while read -r p; do cat "/proc/$p/stat" 2>/dev/null || true; done |
        awk -v hz="$(getconf CLK_TCK)" -v a="$1" -v b="$2" '{ sub(/.*\) /, ""); sum += $a + $b } END { printf "%.2f\n", sum / hz }'
}
own=$(ran 12 13) asked=$(ran 14 15)
sleep "$2"
for used in "$own $(ran 12 13)" "$asked $(ran 14 15)"; do
    awk -v s="$2" '{ printf "%.4f\n", 100 * ($2 - $1) / s }' <<<"$used"
done
tree "$pid" | while read -r p; do cat "/proc/$p/status" 2>/dev/null || true; done | awk '/^VmRSS:/ { sum += $2 } END { printf "%.1f\n", sum * 1024 / 1e6 }'
