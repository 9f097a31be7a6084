# The init process of a node, named $1: it keeps slurmd running and reaps what
# others leave. The first start tells slurmctld that the node has booted; a later
# one must not, or slurmctld would take the node's jobs for lost.
#
# slurmd -b counts its age in whole seconds of the machine's uptime. If one ends
# between its first look and its registration, it says that it booted a second
# before it did; that can be before slurmctld asked for it, and slurmctld then
# waits for another boot (waiting_for_node_boot in node_mgr.c of 22.05). So it
# does not start shortly before the end of a second.
boot=-b
read -r uptime _ </proc/uptime
case ${uptime#*.} in
7[5-9] | [89]?) sleep 0.3 ;;
esac
while :; do
	slurmd -D $boot -N "$1"
	boot=
	sleep 1
done
