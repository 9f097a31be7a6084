//go:build linux

package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/verify/load"
)

// agentVerifyStorage measures a directory from this node, as one task, and prints one line of JSON. What keeps it from that is in
// the line; only a wrong command line is an error.
func (a *app) agentVerifyStorage() *cobra.Command {
	s := load.Storage{}
	var tied bool
	c := &cobra.Command{
		Use:   "storage PHASE DIR",
		Short: "Measures writing, reading and metadata in a directory",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			s.Phase, s.Dir, s.Now = args[0], args[1], time.Now()
			s.Run = cmp.Or(s.Run, rand.Text())
			if err := s.Check(); err != nil {
				return fault.Usage(err)
			}
			ctx := c.Context()
			if tied {
				var stop context.CancelCauseFunc
				ctx, stop = untilEnd(ctx, os.Stdin)
				defer stop(nil)
			}
			_, err := fmt.Fprintln(a.out, s.Measure(ctx).Line())
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&s.Run, "run", "", "the `NAME` of the run, the same for all its tasks: 8 to 32 letters and digits; one of its own otherwise")
	f.StringVar(&s.Node, "node", nodeName(), "this node's `NAME`")
	f.IntVar(&s.Task, "task", taskHere(), "which task this is on its node")
	f.StringSliceVar(&s.Nodes, "nodes", nil, "the `NODES` that take part: each reads the next one's files")
	f.StringVar(&s.ReadOf, "read-of", "", "read this `NODE`'s files instead")
	f.Int64Var(&s.Bytes, "bytes", 8<<30, "write and read at most so many bytes")
	f.DurationVar(&s.Time, "time", 30*time.Second, "write and read for at most so long")
	f.IntVar(&s.Streams, "streams", 8, "how many files at once")
	f.IntVar(&s.Files, "files", 2000, "how many empty files for the metadata's rates")
	f.StringVar(&s.By, "by", "", "the `PROGRAM` that writes and reads: muster itself otherwise, or fio")
	f.Int64Var(&s.Room, "room", 0, "how many bytes other programs write later in the run")
	f.IntVar(&s.Tasks, "tasks", 1, "how many tasks share the file system's room")
	f.BoolVar(&tied, "until-eof", false, "end, and clean up, when the standard input ends")
	return c
}

// nodeName is this node's name, as Slurm has it or as it calls itself.
func nodeName() string {
	host, _ := os.Hostname()
	return cmp.Or(os.Getenv("SLURMD_NODENAME"), host)
}

// taskHere is which of a step's tasks on its node this process is.
func taskHere() int {
	n, _ := strconv.Atoi(os.Getenv("SLURM_LOCALID")) // 0 outside of steps
	return n
}

// errInputEnded is why a measurement stops whose caller is gone.
var errInputEnded = errors.New("the caller is gone: the standard input ended")

// untilEnd ends a context when an input does.
func untilEnd(ctx context.Context, in io.Reader) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop(errInputEnded)
	}()
	return ctx, stop
}
