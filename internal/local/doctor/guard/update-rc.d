#!/bin/sh
# Stands before Debian's update-rc.d while muster installs packages: a System V
# script that is new is entered as disabled.
set -eu
real=/usr/sbin/update-rc.d
name='' action=''
for word; do
	case $word in
	-*) ;;
	*) if [ -z "$name" ]; then name=$word; elif [ -z "$action" ]; then action=$word; fi ;;
	esac
done
if [ "$action" = defaults ]; then
	for link in /etc/rc[0-6S].d/[SK][0-9][0-9]"$name"; do
		if [ -L "$link" ]; then
			exec "$real" "$@"
		fi
	done
	exec "$real" "$name" defaults-disabled
fi
exec "$real" "$@"
