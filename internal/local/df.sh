#!/bin/sh
# df of a local cluster's machines. The file systems of the cluster file lie on one disk
# here, and df shows one line for each disk: this one names them all to it, unless it is
# asked for something else. Sizes are the disk's, which is what there is. The overlays over
# this machine's directories are left out, unless they are asked for.
set -fu
df=/usr/bin/df
mounts='@MOUNTS@'
value=
for word; do
	if [ -n "$value" ]; then
		value=
		continue
	fi
	case $word in
	--all | --total | --help | --version) exec $df "$@" ;;
	--block-size | --type | --exclude-type) value=next ;;
	--?*) ;;
	-*[Btx]) value=next ;;
	-*a*) exec $df "$@" ;;
	-?*) ;;
	*) exec $df "$@" ;;
	esac
done
options=$#
IFS='
'
layers=overlay
case $* in *overlay*) layers= ;; esac
for line in $($df --output=fstype,target 2>/dev/null | tail -n +2); do
	dir=/${line#*/}
	[ "${line%% *}" != "$layers" ] || [ "$dir" = / ] || continue
	set -- "$@" "$dir"
done
for dir in $mounts; do
	shown=
	n=0
	for word; do
		n=$((n + 1))
		[ "$n" -le "$options" ] || [ "$word" != "$dir" ] || shown=yes
	done
	[ -n "$shown" ] || [ ! -d "$dir" ] || set -- "$@" "$dir"
done
exec $df "$@"
