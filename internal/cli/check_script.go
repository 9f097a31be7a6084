package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// checkedScriptLimit is what Slurm takes of a batch script (max_script_size).
const checkedScriptLimit = 4 << 20

// scriptIn reads a file that names its interpreter. The result is nil for all
// others, and for those that cannot be read.
func scriptIn(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	mark := make([]byte, 2)
	if _, err := io.ReadFull(f, mark); err != nil || !bytes.Equal(mark, []byte("#!")) {
		return nil
	}
	rest, err := io.ReadAll(io.LimitReader(f, checkedScriptLimit))
	if err != nil {
		return nil
	}
	return append(mark, rest...)
}

// checkScript checks a batch script, and against the cluster of the file before
// it if there is one.
func (c *checker) checkScript(path string, data []byte) {
	if c.cluster == nil {
		c.add(path, "script", "", job.CheckText(path, data))
		return
	}
	list := job.CheckScript(path, data, nil, factsOf(c.cluster))
	summary := ""
	if !list.HasErrors() {
		summary = "fits " + c.cluster.File
	}
	c.add(path, "script", summary, list)
}

// factsOf are what Slurm would say of a cluster that is not there yet.
func factsOf(c *spec.Cluster) job.Facts {
	var facts job.Facts
	for i, q := range c.Scheduling.Queues {
		one := *c
		one.Scheduling.Queues = []spec.Queue{q}
		for _, g := range plan.Groups(&one, nil) {
			n := slurm.Node{Partitions: []string{q.Name}, CPUs: g.CPUs, MemoryMiB: g.MemoryMiB}
			if g.GPUs > 0 {
				n.Gres = fmt.Sprintf("gpu:%s:%d", g.GPU, g.GPUs)
			}
			for range g.Addresses {
				facts.Nodes = append(facts.Nodes, n)
			}
		}
		facts.Partitions = append(facts.Partitions, slurm.Partition{Name: q.Name, Default: i == 0})
	}
	return facts
}
