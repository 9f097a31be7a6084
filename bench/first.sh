#!/bin/bash
# first.sh HOW NODES LIST DIR: runs a job on the nodes of a host list, where sbatch and srun work, and prints
# the seconds from the command to the first line of the batch script (or of srun's first task), and to the last
# task's first line. HOW is sbatch or srun; DIR is seen by all nodes.
set -euo pipefail
how=$1 nodes=$2 list=$3 dir=$4
out=$(mktemp "$dir/first-XXXXXX")
chmod 666 "$out"
flags=(--nodes="$nodes" --nodelist="$list" --ntasks-per-node=1 --mem=1G --time=10)
stamp=(date +%s.%6N)
# stuck says what Slurm thinks of a job that does not get on.
stuck() {
    echo "job $id: only $(wc -l <"$out") lines on $(hostname)'s nodes after 120 s" >&2
    cat "$out" >&2
    { scontrol show job "$id"; sinfo --Node --long --nodes="$list"; sinfo --list-reasons; } >&2 || true
    exit 1
}
began=$EPOCHREALTIME
if [ "$how" = srun ]; then
    srun "${flags[@]}" --quiet "${stamp[@]}" >"$out"
    lines=$nodes
else
    id=$(sbatch --parsable "${flags[@]}" --output="$out" --open-mode=append --chdir="$dir" --wrap "${stamp[*]}; srun ${stamp[*]}")
    lines=$((nodes + 1))
    while [ "$(wc -l <"$out")" -lt "$lines" ]; do
        sleep 0.05
        (( ${EPOCHREALTIME%.*} - ${began%.*} < 120 )) || stuck
    done
fi
sort -g "$out" | awk -v began="$began" 'NR == 1 { first = $1 } { last = $1 } END { printf "%.3f %.3f\n", first - began, last - began }'
rm "$out"
