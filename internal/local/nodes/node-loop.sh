# The init process of a node, named $1: it keeps slurmd running and reaps what
# others leave. The first start tells slurmctld that the node has booted, and so does
# one after a reboot; any other must not, or slurmctld would take the node's jobs for
# lost.
#
# A node that has to prove itself does so first. One that is unfit waits for its end,
# which comes from outside.
proof=/var/lib/muster/burn-in
until [ ! -d $proof ] || /opt/muster/bin/muster agent burn-in --place=local --node="$1" --out=$proof; do
	while grep -qs '"unfit"' $proof/fitness.json; do sleep 60; done
	[ ! -e $proof/fitness.json ] || break # it was killed when all was said
	sleep 1
done
boot=-b
while :; do
	slurmd -D $boot -N "$1"
	boot=
	sleep 1
	[ ! -e /run/rebooting ] || boot=-b
	rm -f /run/rebooting
done
