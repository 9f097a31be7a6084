//go:build linux

package cli

import (
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local"
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
