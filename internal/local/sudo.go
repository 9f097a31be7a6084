package local

import (
	"os"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
)

const sudoPath = "/usr/bin/sudo"

// sudoFiles are muster's own sudo, where the machines have none that works: the host's
// needs to become root, which is impossible on a cluster of an ordinary user.
func sudoFiles(l *nodes.Layout) []machine.File {
	if _, err := os.Stat(sudoPath); err == nil && !l.Rootless {
		return nil
	}
	return []machine.File{{Path: sudoPath, Mode: 0o755, Text: "#!/bin/sh\nexec " + services.Muster + " agent sudo \"$@\"\n"}}
}
