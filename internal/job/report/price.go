package report

import "github.com/muster-hpc/muster/internal/slurm"

// Machine is what is known of a node's machine.
type Machine struct {
	// Type is its instance type, empty if that is not known.
	Type       string
	CPUs, GPUs int
	// USDPerHour is what an hour of it costs, 0 if that is not known.
	USDPerHour float64
}

// Machines are the nodes' machines, by the nodes' names.
type Machines map[string]Machine

// hourly is what an hour of a run on these nodes costs, and of how many of them the price is known. Of a node that
// others share, the run has the part of the GPUs or of the CPUs that it holds, whichever is more.
func (m Machines) hourly(r slurm.Held, nodes []string) (usd float64, priced int) {
	of := max(1, len(nodesOf(r)))
	gpus, cpus := slurm.GPUs(r.TRES), slurm.CPUs(r.TRES)
	for _, n := range nodes {
		machine := m[n]
		if machine.USDPerHour <= 0 {
			continue
		}
		priced++
		usd += machine.USDPerHour * max(part(gpus, of*machine.GPUs), part(cpus, of*machine.CPUs))
	}
	return usd, priced
}

// part is how much of a whole is held, all where that is not known, none where nothing of it was asked for.
func part(held, whole int) float64 {
	if whole <= 0 && held <= 0 {
		return 1
	}
	if whole <= 0 {
		return 1
	}
	return min(1, float64(held)/float64(whole))
}
