//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

// imageForward opens the cluster's registry to builders of this machine.
func (a *app) imageForward() *cobra.Command {
	c := &cobra.Command{
		Use:   "forward [-- PROGRAM [ARG...]]",
		Short: "Lead builders of this machine to the cluster's registry, for as long as it runs",
		Long: `Forward opens a port of this machine's loopback that leads to the registry of a
cluster on this machine, and runs a program with the registry's account, and with
the port for docker://10.99.0.1:5000 in its arguments. Without a program, it says
how to use the port, and keeps it open until it is ended.`,
		Example: "  muster image forward -- buildah push train docker://10.99.0.1:5000/train\n  muster image forward",
		RunE: func(c *cobra.Command, args []string) error {
			l, _, _, err := a.running()
			if err != nil {
				return err
			}
			f, err := local.ForwardRegistry(c.Context(), l)
			if err != nil {
				return err
			}
			defer f.Close()
			if len(args) == 0 {
				return a.keepForward(c.Context(), f)
			}
			return tie.Ended(withForward(f, args).RunUntil(c.Context()))
		},
	}
	c.Flags().SetInterspersed(false)
	return c
}

func withForward(f *local.Forward, args []string) tie.Program {
	line := make([]string, len(args))
	for i, arg := range args { // what is pushed goes to the address that is named, whatever registries.conf says
		line[i] = strings.Replace(arg, "docker://"+local.RegistryAddress()+"/", "docker://"+f.Address+"/", 1)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), f.Env()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}
}

// keepForward says how to use it, and waits.
func (a *app) keepForward(ctx context.Context, f *local.Forward) error {
	_, err := fmt.Fprintf(a.out, `export CONTAINERS_REGISTRIES_CONF=%[1]s REGISTRY_AUTH_FILE=%[2]s
buildah push IMAGE docker://%[3]s/NAME
skopeo copy --dest-tls-verify=false SOURCE docker://%[3]s/NAME
`, f.ConfFile(), f.AuthFile(), f.Address)
	if err != nil {
		return err
	}
	a.note("%s is the cluster's registry until this ends", f.Address)
	<-ctx.Done()
	return nil
}
