package cluster

import (
	"os"

	"github.com/muster-hpc/muster/internal/head"
	"github.com/muster-hpc/muster/internal/machine"
	"github.com/muster-hpc/muster/internal/provider/local"
)

const sudoPath = "/usr/bin/sudo"

// sudoFiles are muster's own sudo, where the machines have none that works: the host's
// needs to become root, which nobody can on a cluster of an ordinary user.
func sudoFiles(l *local.Layout) []machine.File {
	if _, err := os.Stat(sudoPath); err == nil && !l.Rootless {
		return nil
	}
	return []machine.File{{Path: sudoPath, Mode: 0o755, Text: "#!/bin/sh\nexec " + head.Muster + " agent sudo \"$@\"\n"}}
}
