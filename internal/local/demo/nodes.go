package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// firstJob is what each node runs: it prints its name, its address and its GPUs.
const firstJob = `echo "$(hostname) $(hostname -I) GPUs $CUDA_VISIBLE_DEVICES"`

// runOnAll runs a job on all nodes of the file, which power up for it, and proves that
// each of them ran it.
func (d *demo) runOnAll(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the job did not end within %s", patience))
	defer cancel()
	names := plan.NodeNames(d.files.cluster)
	options := []string{fmt.Sprintf("--nodes=%d", len(names)), "--ntasks-per-node=1", "--gres=gpu:8"}
	d.Report.Note("$ srun " + strings.Join(options, " ") + " sh -c '" + firstJob + "'")
	var out []byte
	err := d.meanwhile(ctx, func() (err error) {
		out, err = d.slurm.Runner.Run(ctx, "srun", append(options, "--job-name=first", "--quiet", "sh", "-c", firstJob)...)
		return err
	})
	if err != nil {
		return "", err
	}
	lines, err := answered(string(out), names)
	if err != nil {
		return "", err
	}
	d.result.FirstJobSeconds = time.Since(d.began).Seconds()
	for _, line := range excerpt(lines) {
		d.Report.Note(line)
	}
	return fmt.Sprintf("%d different nodes answered, %.0f s after the start", len(lines), d.result.FirstJobSeconds), nil
}

// meanwhile counts the nodes that are up until do ends.
func (d *demo) meanwhile(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
		}
		all, err := d.slurm.Nodes(ctx)
		if err != nil {
			continue // srun says what is wrong
		}
		up := 0
		for _, n := range all {
			if nodeUp(n) {
				up++
			}
		}
		d.tell.waiting(fmt.Sprintf("all nodes: %d of %d are up", up, len(all)))
	}
}

func nodeUp(n slurm.Node) bool {
	s := n.State
	return !s.Down() && !s.PoweredDown() && !s.PoweringUp() && !s.PoweringDown()
}

// answered returns the nodes' answers in the order of names. It is an error unless each
// node has answered once, from its own address, and has GPUs.
func answered(output string, names []string) ([]string, error) {
	lines := make([]string, len(names))
	addresses := map[string]string{}
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) != 4 || words[2] != "GPUs" {
			return nil, fmt.Errorf("an answer is %q instead of a name, an address and GPUs", strings.TrimSpace(line))
		}
		i := slices.Index(names, words[0])
		if i < 0 {
			return nil, fmt.Errorf("%s answered, which is no node of the file", words[0])
		}
		if lines[i] != "" {
			return nil, fmt.Errorf("%s answered twice", words[0])
		}
		if other, taken := addresses[words[1]]; taken {
			return nil, fmt.Errorf("%s and %s have the same address %s", other, words[0], words[1])
		}
		lines[i], addresses[words[1]] = strings.Join(words, "  "), words[0]
	}
	var missing []string
	for i, line := range lines {
		if line == "" {
			missing = append(missing, names[i])
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no answer of %s", slurm.Compress(missing))
	}
	return lines, nil
}

// excerpt is the beginning and the end of many lines.
func excerpt(lines []string) []string {
	if len(lines) <= 5 {
		return lines
	}
	between := fmt.Sprintf("... %d more", len(lines)-4)
	return slices.Concat(lines[:3], []string{between}, lines[len(lines)-1:])
}

// idle waits until Slurm has sent every node away.
func (d *demo) idle(ctx context.Context) (string, error) {
	wait := time.Duration(d.files.cluster.Scheduling.Slurm.ScaledownIdleMinutes) * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, wait+time.Minute, errors.New("there still are nodes a minute after their idle time"))
	defer cancel()
	for {
		nodes, err := d.slurm.Nodes(ctx)
		if err != nil {
			return "", err
		}
		var up []string
		for _, n := range nodes {
			if !n.State.PoweredDown() {
				up = append(up, n.Name)
			}
		}
		if len(up) == 0 {
			return fmt.Sprintf("all %d nodes are idle~ after an idle time of %s", len(nodes), wait), nil
		}
		d.tell.waiting(count.Of(len(up), "node") + " to go")
		if err := pause.For(ctx, time.Second); err != nil {
			return "", err
		}
	}
}
