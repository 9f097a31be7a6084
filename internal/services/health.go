package services

import "github.com/muster-hpc/muster/internal/sys/shell"

// NodeHealth is what a node runs as Slurm's HealthCheckProgram, NodeProlog what it runs before a job: it looks at itself.
const (
	NodeHealth = BinDir + "/node-health"
	NodeProlog = BinDir + "/node-prolog"
)

// HealthFile is a node's memory of its last look at itself.
const HealthFile = SpoolDir + "/muster-health.json"

// HealthScript looks at the node with the options of `muster agent health`. It never fails, and nobody waits for what it says.
func HealthScript(options ...string) string {
	return "#!/bin/sh\n# Written by muster: a node that lacks what it had takes itself out of service.\n" + look(options) + "exit 0\n"
}

// PrologScript looks at the node before a job, with the same options, and fails only if it has taken itself out of service: a
// muster that is not there, or that cannot look, keeps no job away. more is what else is done before a job.
func PrologScript(more string, options ...string) string {
	return "#!/bin/sh\n# Written by muster: no job begins on a node that lacks what it had.\n" +
		look(append([]string{"--before-job"}, options...)) + "test $? -ne 1 || exit 1\n" + more + "exit 0\n"
}

// look is the line that looks at the node.
func look(options []string) string {
	words := append([]string{Muster, "agent", "health"}, options...)
	return shell.Line(words) + " \"${SLURMD_NODENAME:-$(uname -n)}\" >/dev/null 2>&1 </dev/null\n"
}
