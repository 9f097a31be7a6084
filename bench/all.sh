#!/bin/bash
# all.sh HOW NODES DIR: the seconds to the last of so many first lines, one on each powered-off node, then what all slurmd
# take, in MB.
set -euo pipefail
here=$(dirname "$0")
"$here/first.sh" "$1" "$2" "gpu-queue-dy-p5e-nodes-[1-$2]" "$3" | cut -d' ' -f2
"$here/pss.sh" slurmd | cut -d' ' -f1
