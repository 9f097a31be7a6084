package boot

import (
	"context"
	"strings"
)

// jitter is a timer of the image's that wakes up a program on every node, now and then, to
// look for new firmware, which a machine of EC2 cannot take up: ranks of a large job wait for the
// one that it delays. ParallelCluster's images have it off since 3.16.
// https://github.com/aws/aws-parallelcluster-cookbook/pull/3264
const jitter = "fwupd-refresh.timer"

// Calm switches off what disturbs large jobs, and says so. A machine on which that does
// not work is as good as it was.
func (m Machine) Calm(ctx context.Context) string {
	if !m.Systemd() {
		return ""
	}
	if out, _ := m.Command(ctx, "systemctl", "is-enabled", jitter); strings.TrimSpace(out) != "enabled" {
		return "" // it is off, or there is none
	}
	if _, err := m.Command(ctx, "systemctl", "disable", "--now", jitter); err != nil {
		return jitter + " goes on: " + err.Error()
	}
	return "switched off " + jitter
}
