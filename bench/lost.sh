#!/bin/bash
# lost.sh FILE: the batch script of a job that loses a node: it notes each of its starts in FILE.
echo "${SLURM_RESTART_COUNT:-0} $(date +%s.%6N)" >>"$1"
srun sleep 600
