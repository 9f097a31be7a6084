# The first process of a machine: what the kernel, udev and cloud-init do before and with the user data. Nothing
# here knows what the user data is.
set -u
mount -t proc -o nosuid,nodev,noexec proc /proc
i=0
while [ "$i" -lt "$(cat /etc/muster-cloud-gpus)" ]; do
	ln -s /dev/null "/dev/nvidia$i"
	i=$((i + 1))
done
dir=/var/lib/cloud/instance
mkdir -p "$dir"
/usr/lib/muster-cloud user-data >"$dir/user-data.txt" || exit 1
chmod 700 "$dir/user-data.txt"
[ -s "$dir/user-data.txt" ] || exec sleep infinity
"$dir/user-data.txt"
echo "user data ended with exit code $?"
exec sleep infinity
