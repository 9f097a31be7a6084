# The first act of a node's init process: the mounts that only a process inside
# the node's process namespace can make. $1 is the node's name, $2 the script to
# go on with, and the rest of the line becomes whoever the node's programs run as.
set -u
mount -t proc -o nosuid,nodev,noexec proc /proc
for p in /proc/sys /proc/sysrq-trigger; do
	[ ! -e "$p" ] || mount -o bind,ro "$p" "$p"
done
name=$1 loop=$2
shift 2
exec "$@" /bin/sh -c "$loop" muster-node "$name"
