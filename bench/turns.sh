#!/bin/bash
# turns.sh COUNT COMMAND OTHER: the milliseconds that each of COUNT runs of a command took, then those of another. They
# take turns, so that both see the same machine. Words of a command are split at spaces.
set -euo pipefail
here=$(dirname "$0") count=$1
read -ra one <<<"$2"
read -ra other <<<"$3"
ones=() others=()
for ((i = 0; i < count; i++)); do
    ones+=("$("$here/start.sh" 1 "${one[@]}")")
    others+=("$("$here/start.sh" 1 "${other[@]}")")
done
printf '%s\n' "${ones[@]}" "${others[@]}"
