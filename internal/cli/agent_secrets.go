//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/slurm"
)

// secretsWait is how long a job waits for a head node that does not answer, such as one that starts anew.
const secretsWait = 3 * time.Minute

// agentSecrets gives a job's script its secrets.
func (a *app) agentSecrets() *cobra.Command {
	return &cobra.Command{
		Use:   "secrets NAME...",
		Short: "Prints the secrets of the job that it runs in, each with a zero byte behind it",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			job, err := strconv.Atoi(os.Getenv("SLURM_JOB_ID"))
			if err != nil {
				return errors.New("this is no job of Slurm's, and only those have secrets")
			}
			ctx, cancel := context.WithTimeoutCause(c.Context(), secretsWait, errors.New("the head node does not give them"))
			defer cancel()
			values, err := askSecrets(ctx, slurm.Client{Runner: slurm.Exec{}}, job)
			if err != nil {
				return fmt.Errorf("get the secrets of job %d: %w", job, err)
			}
			return a.writeSecrets(names, values)
		},
	}
}

// askSecrets asks the head node, where Slurm's controller is, too.
func askSecrets(ctx context.Context, s slurm.Client, job int) (secretValues, error) {
	conf, err := s.Conf(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask Slurm for its head node: %w", err)
	}
	head := headOf(conf["SlurmctldHost[0]"])
	if head == "" {
		return nil, errors.New("ask Slurm for its head node: it says none")
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return nil, fmt.Errorf("look which users there are: %w", err)
	}
	munge := join.Munge{UID: headUser(string(ids), os.Getuid())}
	return join.Client{Head: net.JoinHostPort(head, strconv.Itoa(join.SecretsPort)), Munge: munge}.Secrets(ctx, job)
}

// headUser is whom the head node's controller runs as: root, or on an ordinary user's cluster
// that user, who is the only one there is on its machines.
func headUser(ids string, self int) int {
	if f := strings.Fields(ids); len(f) == 3 && f[2] == "1" {
		return self
	}
	return 0
}

// headOf is the address in "head(10.0.0.4)", or else the name.
func headOf(text string) string {
	name, address, _ := strings.Cut(text, "(")
	if address = strings.TrimSuffix(address, ")"); address != "" {
		return address
	}
	return name
}

// writeSecrets writes all or nothing.
func (a *app) writeSecrets(names []string, values secretValues) error {
	var all []byte
	for _, name := range names {
		value, ok := values[name]
		if !ok {
			return fmt.Errorf("the job has no secret %s", name)
		}
		all = append(append(all, value...), 0)
	}
	_, err := a.out.Write(all)
	return err
}
