package boot

import (
	"context"
	"strings"
)

// Commands that let only root ask the metadata service, once however often they run.
const (
	withIptables = `rule='OUTPUT -d 169.254.169.254/32 -m owner ! --uid-owner 0 -j REJECT'
iptables -w -C $rule 2>/dev/null || iptables -w -I $rule
`
	withNft = `nft list table ip muster_metadata >/dev/null 2>&1 || nft -f - <<'RULES'
table ip muster_metadata {
	chain output {
		type filter hook output priority 0; policy accept;
		ip daddr 169.254.169.254 meta skuid != 0 reject
	}
}
RULES
`
)

// metadataUnit sets the rule again when the machine starts, before it has a network:
// users may have programs that start with the machine.
const metadataUnit = `[Unit]
Description=muster: only root asks the metadata service of EC2
DefaultDependencies=no
After=local-fs.target
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=` + metadataProgram + `

[Install]
WantedBy=multi-user.target
`

// metadataProgram sets the rule. It lies beside muster's own programs, which are there
// before other file systems are mounted.
const metadataProgram = "/opt/muster/bin/secure-metadata"

// SecureMetadata lets only root ask the metadata service: the file's
// HeadNode/Imds/Secured. closed says that it could.
func (m Machine) SecureMetadata(ctx context.Context) (detail string, closed bool, err error) {
	text := "#!/bin/sh\n# Written by muster: HeadNode/Imds/Secured.\nPATH=" + SystemPath + "\nset -e\n"
	switch {
	case m.find("iptables") != "":
		text, detail = text+withIptables, "root alone, by iptables"
	case m.find("nft") != "":
		text, detail = text+withNft, "root alone, by nft"
	default:
		return "blind: this image has neither iptables nor nft, so all users can ask the metadata service", false, nil
	}
	if _, err := m.Write(metadataProgram, text, 0o755, ""); err != nil {
		return "", false, err
	}
	if _, err := m.Command(ctx, m.path(metadataProgram)); err != nil {
		return "", false, err
	}
	if !m.Systemd() {
		return detail, true, nil
	}
	const unit = "muster-metadata.service"
	changed, err := m.Write("/etc/systemd/system/"+unit, metadataUnit, 0o644, "")
	if err != nil || !changed {
		return detail, true, err
	}
	for _, command := range []string{"daemon-reload", "enable " + unit} {
		if _, err := m.Command(ctx, append([]string{"systemctl"}, strings.Fields(command)...)...); err != nil {
			return "", false, err
		}
	}
	return detail + ", also after a restart", true, nil
}
