//go:build linux

package cli

import (
	"errors"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/container"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// The descriptors on which the Slurm plugin talks with hold.
const (
	answerFD = 3
	stepFD   = 4
	ordersFD = 5
)

// holdFlags are what only the Slurm plugin says.
type holdFlags struct {
	containerFlags
	image, job, groups string
	uid, gid           int
	orders             bool
}

func (a *app) containerHold() *cobra.Command {
	var flags holdFlags
	c := &cobra.Command{
		Use:    "hold",
		Short:  "Used by Slurm: make a container for the tasks of a step and keep it",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	flags.add(c.Flags())
	c.Flags().StringVar(&flags.image, "image", "", "the image's `FILE` or reference")
	c.Flags().StringVar(&flags.job, "job", "", "the job whose name it is")
	c.Flags().IntVar(&flags.uid, "user", -1, "who it is for")
	c.Flags().IntVar(&flags.gid, "group", -1, "that user's group")
	c.Flags().StringVar(&flags.groups, "groups", "", "that user's other groups")
	c.Flags().BoolVar(&flags.orders, "orders", false, "wait for the environment and the directory that relative paths are relative to")
	c.RunE = func(c *cobra.Command, _ []string) error {
		collectLate()
		life := container.Life{Answer: os.NewFile(answerFD, "answer"), Step: os.NewFile(stepFD, "step")}
		o, err := flags.options()
		if err == nil {
			o.Image, err = a.imageFile(c.Context(), flags.image, o)
			o.Absent, o.Seal = a.absent(o.Image), seal(c.Context())
		}
		if err != nil {
			return heard(false, container.Refuse(life, err))
		}
		return heard(container.Hold(o, life))
	}
	return c
}

// collectLate has garbage collected only when there is much of it. Hold makes little and
// then waits, maybe for days; a collection while a step starts would take longer than
// making its container.
func collectLate() {
	const much = 64 << 20
	debug.SetMemoryLimit(much)
	debug.SetGCPercent(-1)
}

// heard ends the program silently where the plugin has told the user already.
func heard(well bool, err error) error {
	if err == nil && !well {
		return fault.Exit(fault.ExitProblem)
	}
	return err
}

// options adds to the common flags those of hold.
func (f *holdFlags) options() (container.Options, error) {
	o, err := f.containerFlags.options()
	if err != nil {
		return o, err
	}
	o.Name.Job = f.job
	if f.orders {
		order, err := readOrders(ordersFD)
		if err != nil {
			return o, err
		}
		if err := errors.Join(order.obey(), unix.Close(ordersFD)); err != nil {
			return o, err
		}
		o.Environ, o.Dir = order.environ, order.dir
	}
	if f.image == "" && o.Name.Name == "" {
		return o, fault.Usage(errors.New("--image or --name must be given"))
	}
	if f.uid < 0 {
		return o, nil
	}
	if f.gid < 0 {
		return o, fault.Usage(errors.New("--user needs --group"))
	}
	o.User = container.User{UID: f.uid, GID: f.gid}
	for word := range strings.FieldsFuncSeq(f.groups, func(r rune) bool { return r == ',' }) {
		g, err := strconv.Atoi(word)
		if err != nil {
			return o, fault.Usage(err)
		}
		o.User.Groups = append(o.User.Groups, g)
	}
	return o, nil
}
