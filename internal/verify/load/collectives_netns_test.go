package load_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/pairs"
	"github.com/muster-hpc/muster/test/soak"
)

// pairOf measures all_reduce between two nodes of a cluster over gloo, as a suite does over NCCL, and is the bandwidth of the largest messages.
func (c *cluster) pairOf(ctx context.Context, t *testing.T, place map[string]int, p pairs.Pairing) (float64, error) {
	ranks := map[string]string{p.A: "0", p.B: "1"}
	s := startStep(t, []string{p.A, p.B}, func(node string, in io.Reader, out io.Writer) {
		cmd := exec.CommandContext(ctx, debianPython, "-u", "collectives.py")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
		cmd.Env = append(os.Environ(), "SLURMD_NODENAME="+node, "SLURM_PROCID="+ranks[node], "SLURM_NTASKS=2")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		inside(c.fds[place[node]], func() {
			if err := cmd.Run(); err != nil {
				t.Logf("%s: %v", node, err)
			}
		})
	})
	o := load.CollectiveOptions{In: s.out, Out: s.in, Ranks: 2, Towards: "10.9.0.254", MaxBytes: 1 << 20, Seconds: 2, LimitSeconds: 600, ReadyWait: patience, Operations: load.Operations()[:1]}
	got, err := load.MeasureCollectives(ctx, o)
	if len(got.Broken)+len(got.Blind) > 0 || len(got.Measured) == 0 {
		return 0, fmt.Errorf("broken %v, blind %v: %w", got.Broken, got.Blind, err)
	}
	rows := got.Measured[0].Rows
	return rows[len(rows)-1].InPlace.BusGBps, err
}

// TestSoak_collectives_find_slow finds the one of four nodes whose card makes all_reduce slow, by collectives of pairs alone.
func TestSoak_collectives_find_slow(t *testing.T) {
	soak.Only(t, "measures bandwidths; TestVerify finds a slow node of a cluster")
	withTorch(t)
	nodes := []string{"n1", "n2", "n3", "n4"}
	place := map[string]int{}
	cluster := newCluster(t, len(nodes))
	for i, n := range nodes {
		place[n] = i
		rate := "100mbit" // so slow that it takes longer than the turn of a processor that others use, too
		if n == "n3" {
			rate = "20mbit"
		}
		ip(t, cluster.fds[i], "tc qdisc add dev eth0 root tbf rate "+rate+" burst 64kb latency 50ms")
	}
	search := pairs.New(nodes, 7)
	for round := search.Next(); len(round) > 0; round = search.Next() {
		heard := make([]pairs.Measured, len(round))
		var all sync.WaitGroup
		for i, p := range round {
			all.Go(func() {
				gbps, err := cluster.pairOf(t.Context(), t, place, p)
				heard[i] = pairs.Measured{A: p.A, B: p.B, GBps: gbps}
				if err != nil {
					heard[i].Err = err.Error()
				}
				t.Logf("round %d: %s with %s: %.4f GB/s %s", search.Rounds(), p.A, p.B, gbps, heard[i].Err)
			})
		}
		all.Wait()
		search.Take(heard)
	}
	var sure []string
	for _, x := range search.Verdicts() {
		if x.Sure {
			sure = append(sure, x.Node+x.A+x.B)
		}
	}
	if strings.Join(sure, " ") != "n3" || search.Rounds() > pairs.Most(len(nodes)) {
		t.Errorf("after %d rounds: %+v", search.Rounds(), search.Verdicts())
	}
}
