#!/bin/bash
# all.sh HOW DIR: the seconds to the last of 80 first lines on 80 powered-off nodes, then what all slurmd take, in MB.
set -euo pipefail
here=$(dirname "$0")
"$here/first.sh" "$1" 80 "gpu-queue-dy-p5e-nodes-[1-80]" "$2" | cut -d' ' -f2
"$here/pss.sh" slurmd | cut -d' ' -f1
