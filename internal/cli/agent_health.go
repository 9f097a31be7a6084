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
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/whole"
	"github.com/muster-hpc/muster/internal/verify/scan"
)

// wellness is what a node has to have to be well.
type wellness struct {
	mounts, disks []string
	gpus, efa     int
}

// agentHealth is Slurm's HealthCheckProgram: a look of seconds, without load. What is wrong twice in a row takes the node out of
// service; nothing brings it back.
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
			return lookAfter(c.Context(), w, slurm.Client{Runner: slurm.Exec{}}, args[0])
		},
	}
	f := c.Flags()
	f.StringArrayVar(&w.mounts, "mount", nil, "a shared file system's `DIR`")
	f.StringArrayVar(&w.disks, "disk", nil, "a `DIR` on a disk of the node's own")
	f.IntVar(&w.gpus, "gpus", 0, "how many GPUs the machine booted with")
	f.IntVar(&w.efa, "efa", 0, "how many EFA devices it booted with")
	return c
}

// lookAfter looks at the node, decides, and drains it. The memory is kept whatever Slurm answers: what was wrong is looked at again.
func lookAfter(ctx context.Context, w wellness, s slurm.Client, node string) error {
	v, err := w.look(ctx)
	if err != nil {
		return err
	}
	before := lastLook()
	sure, memory := fleet.Sick(v, before)
	if len(sure) > 0 {
		if err = drainSick(ctx, s, node, sure); err != nil {
			memory.Blind = append(memory.Blind, err.Error())
		}
	}
	return errors.Join(err, note(memory, before))
}

func (w wellness) look(ctx context.Context) (fleet.Vitals, error) {
	life, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return fleet.Vitals{}, fmt.Errorf("read this boot's name: %w", err)
	}
	answers, err := scan.Answers(ctx, append(append([]string{}, w.mounts...), w.disks...))
	if err != nil {
		return fleet.Vitals{}, fmt.Errorf("ask the file systems: %w", err)
	}
	v := fleet.Vitals{Mounts: answers[:len(w.mounts)], Disks: answers[len(w.mounts):], WantGPUs: w.gpus, WantEFA: w.efa, Boot: strings.TrimSpace(string(life)), Now: time.Now()}
	v.GPUs, v.EFA = boot.Machine{}.Devices()
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
