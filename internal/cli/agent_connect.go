//go:build linux

package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/shell"
)

// agentConnect joins its input and output with a service of a local cluster's head node.
func (a *app) agentConnect() *cobra.Command {
	return &cobra.Command{
		Use:   "connect DIR SERVICE",
		Short: "Leads SSH of this machine to the head node of a local cluster",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			conn, said, err := local.Connect(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer conn.Close()
			go func() {
				if _, err := io.Copy(conn, os.Stdin); err == nil {
					_ = conn.(*net.UnixConn).CloseWrite()
				}
			}()
			_, err = io.Copy(a.out, said)
			return err
		},
	}
}

// sshLocal logs in to the head node of a cluster on this machine.
func (a *app) sshLocal(args []string, dryRun bool) error {
	l, r, _, err := a.running()
	if err != nil {
		return err
	}
	if !local.SSHInstalled() {
		return errors.New("this machine has no SSH server for machines of clusters: `muster doctor` offers openssh-server, and `muster shell` opens a shell without it")
	}
	line := local.SSHLine(l, r.Name, args)
	if dryRun {
		_, err := fmt.Fprintln(a.out, shell.Line(line))
		return err
	}
	return turnInto(line, os.Environ())
}
