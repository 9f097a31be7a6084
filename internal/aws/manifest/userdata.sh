#!/bin/sh
# Written by muster: makes this machine one of a cluster. It may run again.
umask 022
role=@ROLE@
root=$MUSTER_ROOT
test -n "$MUSTER_SHUTDOWN" || MUSTER_SHUTDOWN='shutdown -h now'
say() {
	echo "muster: $1" >&2
	echo "muster: $1" 2>/dev/null >>"$root/dev/console" || :
}
# A machine that cannot become a node must not cost.
give_up() {
	say "$1"
	if test "$role" = compute; then $MUSTER_SHUTDOWN; fi
	exit 1
}
mkdir -p "$root/etc/muster" "$root/opt/muster/bin" "$root/var/log/muster" || give_up 'cannot make directories'
cat >"$root/etc/muster/ticket.json.new" <<'TICKET' || give_up 'cannot write the ticket'
@TICKET@
TICKET
mv "$root/etc/muster/ticket.json.new" "$root/etc/muster/ticket.json" || give_up 'cannot write the ticket'
python=
for p in python3 /usr/libexec/platform-python /usr/bin/python3; do
	if command -v $p >/dev/null 2>&1; then python=$p; break; fi
done
test -n "$python" || give_up 'this image has no Python 3, with which muster is fetched'
"$python" - "$root" <<'PYTHON' || give_up 'muster was not fetched from the bucket, see the lines before'
@FETCH@
PYTHON
# systemd keeps the agent running, but leaves what it started alone: jobs. One of an
# image waits for this ticket, and starts again.
if test -z "$root" && test -d /run/systemd/system; then
	cat >/etc/systemd/system/muster-agent.service <<'UNIT' || give_up 'cannot write the unit of the agent'
@UNIT@
UNIT
	{ systemctl daemon-reload && systemctl enable muster-agent && systemctl restart --no-block muster-agent; } ||
		give_up 'systemd does not start the agent'
	exit 0
fi
exec "$root/opt/muster/bin/muster" agent --ticket "$root/etc/muster/ticket.json"
