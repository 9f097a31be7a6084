package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/muster-hpc/muster/internal/head"
	"github.com/muster-hpc/muster/internal/provider/local"
	"github.com/muster-hpc/muster/internal/slurm"
)

// ControllerClient speaks to a cluster's controller over its socket.
func ControllerClient(l *local.Layout) *http.Client {
	return SocketClient(l.Path("run"), "controller.sock")
}

// SocketClient speaks HTTP to a socket in a folder, whose path may be longer
// than a socket's name can be.
func SocketClient(dir, name string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		d, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(int(d.Fd()))+"/"+name)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// HeadEnv is the environment of a program that runs on the head node for the
// caller: what the caller has, and what leads AWS programs to the cluster's own S3.
func HeadEnv() []string {
	var env []string
	for _, name := range []string{"HOME", "USER", "LOGNAME", "TERM", "LANG", "COLORTERM", "NO_COLOR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env,
		"PATH="+head.BinDir+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8", "SHELL=/bin/bash",
		"AWS_CONFIG_FILE="+head.AWSDir+"/config",
		fmt.Sprintf("AWS_SHARED_CREDENTIALS_FILE=%s-credentials", head.AWSDir),
		"AWS_EC2_METADATA_DISABLED=true")
}

// Runner runs Slurm's programs on the head node of a cluster for a process of
// the host, in a directory.
type Runner struct {
	Layout *local.Layout
	Anchor local.AnchorProcess
	Dir    string
	// Env is added to the programs' environment.
	Env []string
}

// Run runs a program and returns what it printed.
func (r Runner) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := r.Layout.HeadCommand(r.Anchor, r.Dir, append([]string{"env"}, append(append(HeadEnv(), r.Env...), append([]string{name}, args...)...)...))
	return slurm.Exec{}.Run(ctx, line[0], line[1:]...)
}
