# shellcheck shell=bash
# What the benchmarks share.

# What fails inside $(...) fails.
shopt -s inherit_errexit

# small: is this only to see that every row can be measured? Then once, on few nodes, and no limit counts.
small() { [ -n "${SMALL:-}" ]; }

# few COUNT FEW: the second number if this run is small, otherwise the first.
few() { if small; then echo "$2"; else echo "$1"; fi; }

# minus A B prints A-B, for seconds with a fraction.
minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f\n", a - b }'; }

# median VALUE...: the number in the middle.
median() {
    printf '%s\n' "$@" | sort -g | awk '
        { v[NR] = $1 }
        END { printf "%.6g\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# collect COUNT COMMAND...: what a command prints, one number in a line, in the array values. There must be so many.
collect() {
    local count=$1
    shift
    "$@" >"$WORK/values"
    mapfile -t values <"$WORK/values"
    [ "${#values[@]}" -eq "$count" ] || { echo "bench: ${#values[@]} figures instead of $count from $*" >&2; return 1; }
}

# measured NAME LEAST VALUE...: fails where nothing was measured: no value, no number, or one that is not above LEAST.
measured() {
    local name=$1 least=$2
    shift 2
    printf '%s\n' "$@" | awk -v name="$name" -v least="$least" '
        !/^[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/ || $1 + 0 <= least { print "bench: " name ": not measured: \"" $0 "\"" > "/dev/stderr"; bad = 1 }
        END { exit bad }'
}

# row NAME LIMIT VALUE...: the median of the values, their range, and what the median should stay below. A missed limit is
# said, and kept in the file missed.
row() {
    local name=$1 limit=$2
    shift 2
    small && limit=
    printf '%s\n' "$@" | sort -g | awk -v name="$name" -v limit="$limit" -v median="$(median "$@")" -v missed="$WORK/missed" '
        NR == 1 { low = $1 }
        { high = $1 }
        END {
            over = limit != "" && median >= limit + 0
            printf "%-54s %8.2f  %-9s %8.2f %8.2f %4d%s\n", name, median, limit == "" ? "" : "< " limit, low, high, NR, over ? "  missed" : ""
            if (over) print name >> missed
        }'
}

# report NAME LIMIT VALUE...: a row of something that takes time or space, so that zero was not measured.
report() { measured "$1" 0 "${@:3}" && row "$@"; }

# share NAME LIMIT VALUE...: a row of something of which there may be nothing.
share() { measured "$1" -1 "${@:3}" && row "$@"; }

# ratio NAME LIMIT A B: a row with A divided by B.
ratio() { measured "$1" 0 "$3" "$4" && report "$1" "$2" "$(awk -v a="$3" -v b="$4" 'BEGIN { print a / b }')"; }

# skipped NAME WHY: a row that is left out is said to be.
skipped() { echo "left out: $1 ($2)"; }

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
    [ -n "${!variable:-}" ] || { skipped "$name" "$variable does not say where its sources are"; return 1; }
    needs "$@" || { skipped "$name" "a program is missing"; return 1; }
}
