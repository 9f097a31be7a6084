package boot

import (
	"net/netip"
	"strings"
)

// nearProgram is what ssh asks on ParallelCluster's images whether a host is a machine
// of the network: their /etc/ssh/ssh_config names it, and trusts such hosts without
// asking about keys. The images do not have it.
const nearProgram = "/usr/bin/ssh_target_checker.sh"

// near compares the host's address with the networks. Without a network no host is near.
const near = `#!/bin/sh
# Written by muster. ssh asks whether a host is in the cluster's network, where machines
# come and go, and their keys with them.
networks="@NETWORKS@"
number() {
	IFS=. read -r a b c d <<END
$1
END
	echo $((a << 24 | b << 16 | c << 8 | d))
}
address=$(getent ahostsv4 "$1" | head -n 1 | cut -d ' ' -f 1)
case $address in
'') exit 1 ;;
127.*) exit 0 ;;
esac
host=$(number "$address")
for network in $networks; do
	mask=$((0xffffffff << (32 - ${network#*/}) & 0xffffffff))
	if test $((host & mask)) = $(($(number "${network%/*}") & mask)); then exit 0; fi
done
exit 1
`

// Near lets ssh reach the cluster's machines from this one without a question, where
// the image's configuration of ssh leaves that to a program.
func (m Machine) Near(networks []netip.Prefix) (string, error) {
	config, err := m.Read("/etc/ssh/ssh_config")
	if err != nil {
		return "", err
	}
	if !strings.Contains(config, strings.TrimPrefix(nearProgram, "/usr/bin/")) {
		return "ssh asks about host keys as the image has it", nil
	}
	var all []string
	for _, n := range networks {
		if n.Addr().Is4() {
			all = append(all, n.String())
		}
	}
	_, err = m.Write(nearProgram, strings.ReplaceAll(near, "@NETWORKS@", strings.Join(all, " ")), 0o755, "")
	return "ssh trusts " + strings.Join(all, ", "), err
}
