# The first process of a machine: what the kernel, udev and cloud-init do before and with the user data. Nothing
# here knows what the user data is.
set -u
mount -t proc -o nosuid,nodev,noexec proc /proc
i=0
while [ "$i" -lt "$(cat /etc/muster-cloud-gpus)" ]; do
	ln -s /dev/null "/dev/nvidia$i"
	i=$((i + 1))
done
# The image's user, with the key pair's public key. Machines without one need no SSH.
[ -z "$MUSTER_CLOUD_USER" ] || useradd --create-home --shell /bin/bash --password '*' "$MUSTER_CLOUD_USER"
key=$(/usr/lib/muster-cloud public-key)
if [ -n "$key" ] && [ -x /usr/sbin/sshd ]; then
	home=$(getent passwd "$MUSTER_CLOUD_USER" | cut -d : -f 6)
	install -d -m 700 -o "$MUSTER_CLOUD_USER" "$home/.ssh"
	echo "$key" >"$home/.ssh/authorized_keys"
	chown "$MUSTER_CLOUD_USER" "$home/.ssh/authorized_keys"
	rm -f /etc/ssh/ssh_host_*
	ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
	mkdir -p /run/sshd
	# Without PAM: its modules want a whole machine.
	env -u AWS_ENDPOINT_URL /usr/sbin/sshd -o UsePAM=no -E /var/log/sshd.log
fi
dir=/var/lib/cloud/instance
mkdir -p "$dir"
/usr/lib/muster-cloud user-data >"$dir/user-data.txt" || exit 1
chmod 700 "$dir/user-data.txt"
[ -s "$dir/user-data.txt" ] || exec sleep infinity
"$dir/user-data.txt"
echo "user data ended with exit code $?"
exec sleep infinity
