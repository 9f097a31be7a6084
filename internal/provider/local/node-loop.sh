# The init process of a node, named $1: it keeps slurmd running and reaps what
# others leave. The first start tells slurmctld that the node has booted; a later
# one must not, or slurmctld would take the node's jobs for lost.
boot=-b
while :; do
	slurmd -D $boot -N "$1"
	boot=
	sleep 1
done
