#!/bin/bash
# rest.sh DIR COUNT SECONDS: what a cluster at rest uses whose bucket has COUNT objects: of the controller and of the S3
# server percent of a core and MB (proportional set size), four lines. DIR is the cluster's run directory.
set -euo pipefail
dir=$1 count=$2 seconds=$3
files=$dir/shared/fsx2/rest objects=$dir/s3/checkpoint-jakarta/rest
for ((i = 0; i < count; i++)); do
    ((i % 500)) || mkdir -p "$files/$((i / 500))"
    echo "$i" >"$files/$((i / 500))/$i.bin"
done

# holds COMMAND...: waits until it is true, and for ten minutes at the most.
holds() {
    local end=$((SECONDS + 600))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || { echo "bench: not so after ten minutes: $*" >&2; return 1; }
        sleep 1
    done
}
exported() { [ -d "$objects" ] && [ "$(find "$objects" -type f | wc -l)" -ge "$count" ]; }

# The CPU time of a process in nanoseconds. Threads that have ended count, which is why it is not the sum of those that
# there are; it is to 10 ms.
ran() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13) * 1e9 / hz }' "/proc/$1/stat"; }
share() { awk -v ran="$(($2 - $1))" -v s="$seconds" 'BEGIN { printf "%.4f\n", 100 * ran / 1e9 / s }'; }
memory() { awk '/^Pss:/ { print $2 * 1024 / 1e6 }' "/proc/$1/smaps_rollup"; }

holds exported
controller=$(pgrep -f "muster controller $dir\$")
server=$(pgrep -f "muster-stand s3 --root $dir/s3")
# At rest is what has used less than a tenth of a core for ten seconds.
quiet() { local before && before=$(ran "$controller") && sleep 10 && [ $(($(ran "$controller") - before)) -lt 1000000000 ]; }
holds quiet
before=$(ran "$controller") served=$(ran "$server")
sleep "$seconds"
share "$before" "$(ran "$controller")"
memory "$controller"
share "$served" "$(ran "$server")"
memory "$server"
