package job

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Efficiency is what a job used of what it was given, in the words of Slurm's own seff,
// which scripts read.
func Efficiency(u slurm.Usage) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("Job ID: %s", u.ID)
	if strings.Contains(u.Label, "_") {
		say("Array Job ID: %s", u.Label)
	}
	say("Cluster: %s", u.Cluster)
	say("User/Group: %s/%s", u.User, u.Group)
	switch u.State {
	case "PENDING":
		say("State: PENDING")
		say("Efficiency not available for jobs in the PENDING state.")
		return b.String()
	case "RUNNING":
		say("State: RUNNING")
	default:
		say("State: %s (exit code %d)", u.State, u.ExitCode.Code)
	}
	if u.CPUs <= 1 {
		say("Cores: %d", u.CPUs)
	} else {
		say("Nodes: %d", u.Nodes)
		say("Cores per node: %d", u.CPUs/max(1, u.Nodes))
	}
	walltime := u.Elapsed * time.Duration(u.CPUs)
	say("CPU Utilized: %s", span(u.CPUTime))
	say("CPU Efficiency: %.2f%% of %s core-walltime", percent(float64(u.CPUTime), float64(walltime)), span(walltime))
	say("Job Wall-clock time: %s", span(u.Elapsed))
	estimated := ""
	if u.Tasks > 1 {
		estimated = " (estimated maximum)"
	}
	say("Memory Utilized: %s%s", size(u.MemoryBytes), estimated)
	say("Memory Efficiency: %.2f%% of %s", percent(float64(u.MemoryBytes), float64(u.GivenBytes)), size(u.GivenBytes))
	if u.State == "RUNNING" {
		say("WARNING: Efficiency statistics may be misleading for RUNNING jobs.")
	}
	return b.String()
}

// percent is a part of a whole, none of nothing.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// span is a time as Slurm writes it.
func span(d time.Duration) string {
	seconds := int(d / time.Second)
	clock := fmt.Sprintf("%02d:%02d:%02d", seconds/3600%24, seconds/60%60, seconds%60)
	if days := seconds / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, clock)
	}
	return clock
}

// size is a size in the largest unit that fits into it.
func size(bytes int64) string {
	units := []string{"KB", "MB", "GB", "TB", "PB"}
	n, i := float64(bytes)/1024, 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if bytes == 0 {
		i = 1 // as seff has it
	}
	return fmt.Sprintf("%.2f %s", n, units[i])
}
