# Ends a program and all that it has started once its caller has died, which is when standard
# input ends. The caller writes the program's process ID to it, and one line more when the
# program has ended. $1 is the signal that they hear; $2 is not empty where the program only
# waits for another one and hears nothing. What is there $3 tenths of a second later is killed.
# $4 is the caller, and $5 his process group, which is the program's.
set -u
pid=
if read -r pid; then read -r _ && exit 0; fi

# began is when a process started, which names it for ever, unless it has ended.
began() {
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	# shellcheck disable=SC2086 # they are words: the name before them may have blanks and parentheses
	set -- ${stat##*) }
	[ "$1" = Z ] || echo "${20}"
}

# parent is a process's parent and its group.
parent() {
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	# shellcheck disable=SC2086 # words, too
	set -- ${stat##*) }
	echo "$2 $3"
}

# unnamed finds the program of a caller who died before he could name it: of his group, with
# no parent but whoever took us in, and not older than we are.
unnamed() {
	while to=$(parent $$) && [ "${to% *}" = "$1" ]; do sleep 0.01; done
	for p in /proc/[0-9]*; do
		p=${p#/proc/}
		[ "$(parent "$p")" = "${to% *} $2" ] && [ "$(began "$p")" -ge "$(began $$)" ] && echo "$p"
	done
}

# tree stops a process and all below it, parents first, so that none starts one unseen, and
# none is nobody's child when its parent ends.
tree() {
	kill -STOP "$1" 2>/dev/null || return 0
	echo "$1:$(began "$1")"
	# shellcheck disable=SC2013 # words, too
	for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do tree "$child"; done
}

left() {
	for p in $all; do [ "$(began "${p%:*}")" != "${p#*:}" ] || echo "${p%:*}"; done
}

all=$(for p in ${pid:-$(unnamed "$4" "$5")}; do tree "$p"; done)
for p in $(left); do
	[ -n "$2" ] && [ "$p" = "$pid" ] && continue
	kill "-$1" "$p"
done
for p in $(left); do kill -CONT "$p"; done
n=$3
while [ "$n" -gt 0 ] && [ -n "$(left)" ]; do sleep 0.1; n=$((n - 1)); done
all="$all $(for p in $(left); do tree "$p"; done)"
for p in $(left); do kill -KILL "$p"; done
