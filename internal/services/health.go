package services

import "github.com/muster-hpc/muster/internal/sys/shell"

// NodeHealth is what a node runs as Slurm's HealthCheckProgram: it looks at itself.
const NodeHealth = BinDir + "/node-health"

// HealthFile is a node's memory of its last look at itself.
const HealthFile = SpoolDir + "/muster-health.json"

// HealthScript looks at the node with the options of `muster agent health`. It never fails, and nobody waits for what it says.
func HealthScript(options ...string) string {
	words := append([]string{Muster, "agent", "health"}, options...)
	return "#!/bin/sh\n# Written by muster: a node that lacks what it had takes itself out of service.\n" +
		shell.Line(words) + " \"${SLURMD_NODENAME:-$(uname -n)}\" >/dev/null 2>&1 </dev/null\nexit 0\n"
}
