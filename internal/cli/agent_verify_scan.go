//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/verify/scan"
	"github.com/muster-hpc/muster/internal/verify/suite"
)

// agentVerifyScan looks at a machine, for muster verify: as the job's user, and in its container.
func (a *app) agentVerifyScan() *cobra.Command {
	var o scan.Options
	var at string
	var parts bool
	c := &cobra.Command{
		Use:   "scan",
		Short: "Says all that this machine, or this container, tells of itself",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Now, o.Environment = time.Now(), os.Environ()
			if at != "" {
				asked, err := time.Parse(time.RFC3339Nano, at)
				if err != nil {
					return fault.Usage(fmt.Errorf("--at %s: write a time such as 2026-01-02T15:04:05.123Z", at))
				}
				o.Asked = asked
			}
			facts, err := scan.Machine(c.Context(), o)
			if err != nil {
				return err
			}
			if !parts {
				return json.NewEncoder(a.out).Encode(facts)
			}
			answer, err := json.Marshal(facts)
			if err != nil {
				return err
			}
			return suite.WriteParts(a.out, nodeName(), answer)
		},
	}
	c.Flags().BoolVar(&o.Container, "container", false, "this is a container")
	c.Flags().BoolVar(&o.Counters, "counters", false, "EFA's counters alone")
	c.Flags().IntVar(&o.Diagnosis, "diagnosis", 1, "the `LEVEL` of DCGM's diagnosis of GPUs, 1 to 4")
	c.Flags().DurationVar(&o.DiagnosisWait, "diagnosis-wait", 0, "the `TIME` that it may take")
	c.Flags().BoolVar(&parts, "parts", false, "in lines that srun keeps whole")
	c.Flags().StringVar(&at, "at", "", "the asker's clock when he asked, a `TIME`")
	return c
}
