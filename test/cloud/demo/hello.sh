#!/bin/bash
# What a custom action does: here it leaves a word on the machine.
set -euo pipefail
echo "$1 configured on $(hostname)" | tee -a /var/log/hello
