//go:build linux

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/whole"
	"github.com/muster-hpc/muster/internal/verify/scan"
)

// wellness is what a node has to have to be well.
type wellness struct {
	mounts, disks []string
	gpus, efa     int
	// beforeJob is a look before a job, which waits for it.
	beforeJob bool
}

// agentHealth is Slurm's HealthCheckProgram, and its Prolog: a look of seconds, without load. What is wrong twice in a row takes
// the node out of service; nothing brings it back. Before a job, two looks in a row are one after the other, and a node that took
// itself out of service fails: Slurm queues the job again.
func (a *app) agentHealth() *cobra.Command {
	var w wellness
	c := &cobra.Command{
		Use:   "health NODE",
		Short: "Drains this node if it lacks what it had",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			// slurmd's programs have no PATH.
			if err := os.Setenv("PATH", boot.SystemPath); err != nil {
				return err
			}
			drained, err := lookAfter(c.Context(), w, slurm.Client{Runner: slurm.Exec{}}, args[0])
			switch {
			case !w.beforeJob:
				return err
			case drained:
				return fault.Exit(fault.ExitProblem)
			}
			return nil // what could not be looked at keeps no job away; it is noted
		},
	}
	f := c.Flags()
	f.StringArrayVar(&w.mounts, "mount", nil, "a shared file system's `DIR`")
	f.StringArrayVar(&w.disks, "disk", nil, "a `DIR` on a disk of the node's own")
	f.IntVar(&w.gpus, "gpus", 0, "how many GPUs the machine booted with")
	f.IntVar(&w.efa, "efa", 0, "how many EFA devices it booted with")
	f.BoolVar(&w.beforeJob, "before-job", false, "fail if the node takes itself out of service")
	return c
}

// lookAfter looks at the node, decides, and drains it. The memory is kept whatever Slurm answers: what was wrong is looked at again.
func lookAfter(ctx context.Context, w wellness, s slurm.Client, node string) (drained bool, err error) {
	before := lastLook()
	sure, memory, err := w.sick(ctx, before)
	if err != nil {
		return false, err
	}
	if len(sure) > 0 {
		if err = drainSick(ctx, s, node, sure); err != nil {
			memory.Blind = append(memory.Blind, err.Error())
		}
		drained = err == nil
	}
	return drained, errors.Join(err, note(memory, before))
}

// sick is what is wrong for sure. Before a job the second look follows the first at once.
func (w wellness) sick(ctx context.Context, before fleet.Memory) (sure []string, memory fleet.Memory, err error) {
	v, err := w.look(ctx)
	if err != nil {
		return nil, before, err
	}
	if sure, memory = fleet.Sick(v, before); !w.beforeJob || len(sure) > 0 || len(memory.Wrong) == 0 {
		return sure, memory, nil
	}
	if v, err = w.look(ctx); err != nil {
		return nil, memory, err
	}
	sure, memory = fleet.Sick(v, memory)
	return sure, memory, nil
}

func (w wellness) look(ctx context.Context) (fleet.Vitals, error) {
	life, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return fleet.Vitals{}, fmt.Errorf("read this boot's name: %w", err)
	}
	var faults []string
	var unseen string
	var asks sync.WaitGroup
	if w.beforeJob && w.gpus > 0 {
		asks.Go(func() { faults, unseen = boot.Machine{}.Faults(ctx) })
	}
	answers, err := scan.Answers(ctx, append(append([]string{}, w.mounts...), w.disks...))
	asks.Wait()
	if err != nil {
		return fleet.Vitals{}, fmt.Errorf("ask the file systems: %w", err)
	}
	v := fleet.Vitals{Mounts: answers[:len(w.mounts)], Disks: answers[len(w.mounts):], WantGPUs: w.gpus, WantEFA: w.efa, Boot: strings.TrimSpace(string(life)), Now: time.Now()}
	v.GPUs, v.EFA = boot.Machine{}.Devices()
	v.Faults = faults
	if unseen != "" {
		v.Unseen = []string{unseen}
	}
	return v, nil
}

// lastLook is what the node noted of its last look, nothing if that cannot be read.
func lastLook() (m fleet.Memory) {
	text, err := os.ReadFile(services.HealthFile)
	if err != nil || json.Unmarshal(text, &m) != nil {
		return fleet.Memory{}
	}
	return m
}

// note keeps the memory, and writes into the health log what is wrong or could not be looked at, once.
func note(m, before fleet.Memory) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = whole.Write(services.HealthFile, append(text, '\n'), 0o600)
	}
	if !m.News(before) {
		return err
	}
	v := boot.Verdict{Failed: m.Wrong, Blind: strings.Join(m.Blind, "; ")}
	if logged := (boot.Machine{}).NoteHealth(v, "-", m.At); logged != nil && !errors.Is(logged, fs.ErrPermission) {
		err = errors.Join(err, logged)
	}
	return err
}

// errCrowd is of a node that is not drained, since too many are.
var errCrowd = errors.New("not drained: so many nodes have drained themselves that it is not they who are at fault")

func drainSick(ctx context.Context, s slurm.Client, node string, wrong []string) error {
	all, err := s.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	var reasons []string
	for _, n := range all {
		reasons = append(reasons, n.Reason)
	}
	if fleet.Unhealthy(reasons) >= fleet.Crowd(len(all)) {
		return errCrowd
	}
	if err := drainSelf(ctx, s, node, fleet.HealthReason(wrong)); err != nil {
		return fmt.Errorf("drain this node, as %s: %w", strings.Join(wrong, "; "), err)
	}
	return nil
}
