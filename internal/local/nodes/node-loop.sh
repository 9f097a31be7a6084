# The init process of a node, named $1: it keeps slurmd running and reaps what
# others leave. The first start tells slurmctld that the node has booted, and so does
# one after a reboot; any other must not, or slurmctld would take the node's jobs for
# lost.
boot=-b
while :; do
	slurmd -D $boot -N "$1"
	boot=
	sleep 1
	[ ! -e /run/rebooting ] || boot=-b
	rm -f /run/rebooting
done
