# shellcheck shell=bash
# What the benchmarks share.

# minus A B prints A-B, for seconds with a fraction.
minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f\n", a - b }'; }

# median VALUE...: the number in the middle.
median() {
    printf '%s\n' "$@" | sort -g | awk '
        { v[NR] = $1 }
        END { printf "%.3f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# report NAME LIMIT VALUE...: a row with the median of the values, their range, and what the median should stay below.
report() {
    local name=$1 limit=$2
    shift 2
    printf '%s\n' "$@" | sort -g | awk -v name="$name" -v limit="$limit" -v median="$(median "$@")" '
        NR == 1 { low = $1 }
        { high = $1 }
        END { printf "%-54s %8.2f  %-9s %8.2f %8.2f %4d\n", name, median, limit == "" ? "" : "< " limit, low, high, NR }'
}

# ratio NAME LIMIT A B: a row with A divided by B.
ratio() { report "$1" "$2" "$(awk -v a="$3" -v b="$4" 'BEGIN { print a / b }')"; }

# seconds COMMAND...: how long it took. What it prints is dropped; it must succeed.
seconds() {
    local began=$EPOCHREALTIME
    "$@" >/dev/null 2>"$WORK/stderr" || { cat "$WORK/stderr" >&2; return 1; }
    minus "$EPOCHREALTIME" "$began"
}

# onHead COMMAND...: runs it on the cluster's head node.
onHead() { "$MUSTER" exec --cluster "${CLUSTER:-bench}" -- "$@"; }

# up and down of the guide's file.
up() { "$MUSTER" up "$ROOT/examples/guide-80/cluster.yaml" --cluster "${CLUSTER:-bench}" "$@"; }
down() { "$MUSTER" down --cluster "${CLUSTER:-bench}" --delete-data --yes; }

# needs PROGRAM...: fails with words if one is missing.
needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "bench: $program is missing" >&2; return 1; }
    done
}

# baseline NAME VARIABLE PROGRAM...: whether something can be measured for comparison. Its sources are where VARIABLE says.
# What is left out is said.
baseline() {
    local name=$1 variable=$2
    shift 2
    [ -n "${!variable:-}" ] || { echo "left out: $name ($variable does not say where its sources are)"; return 1; }
    needs "$@" || { echo "left out: $name"; return 1; }
}
