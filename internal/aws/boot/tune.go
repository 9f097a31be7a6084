package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Tuning is what a machine's part in the cluster wants of the kernel.
type Tuning struct {
	// Head says that many connections come at once, OneThread that each core has one
	// thread, and EFA that processes of a job read each other's memory.
	Head, OneThread, EFA bool
}

// Tune sets the kernel as ParallelCluster does. What a kernel does not have is left
// out, but for threads: with two on a core where one is expected, two ranks of a job
// share a core, and it is slow for no visible reason.
func (m Machine) Tune(_ context.Context, t Tuning) (string, error) {
	if !m.Systemd() {
		return "left alone: no systemd", nil
	}
	var wanted []string
	if t.EFA {
		wanted = append(wanted, "kernel.yama.ptrace_scope=0") // libfabric's own way within a node
	}
	if t.Head {
		wanted = append(wanted, "net.core.somaxconn=65535", "net.ipv4.tcp_max_syn_backlog=65535")
	}
	var done []string
	for _, w := range wanted {
		name, value, _ := strings.Cut(w, "=")
		had, err := m.sysctl(name, value)
		if err != nil {
			return "", err
		}
		if had {
			done = append(done, w)
		}
	}
	if t.OneThread {
		detail, err := m.oneThread()
		if err != nil {
			return "", err
		}
		done = append(done, detail)
	}
	if len(done) == 0 {
		return "as it was", nil
	}
	return strings.Join(done, ", "), nil
}

// ubuntu tells whether the machine's system is Ubuntu.

// Where the kernel has the threads of its cores.
const (
	smtActive  = "/sys/devices/system/cpu/smt/active"
	smtControl = "/sys/devices/system/cpu/smt/control"
)

// oneThread leaves each core one thread, where its launch template could not.
func (m Machine) oneThread() (string, error) {
	active, err := m.Read(smtActive)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(active) != "1" {
		return "one thread on each core", nil
	}
	err = os.WriteFile(m.path(smtControl), []byte("off\n"), 0o644)
	if after, again := m.Read(smtActive); err == nil && again == nil && strings.TrimSpace(after) == "1" {
		err = errors.New("the kernel goes on with two")
	}
	if err != nil {
		return "", fmt.Errorf("leave one thread on each core, as the file wants it: %w", err)
	}
	return "one thread on each core now", nil
}

// nfsThreads is how many threads serve directories to a machine's processors: with
// NFS's own eight, the homes of many nodes wait for each other.
func nfsThreads(processors int) int { return min(256, max(8, 4*processors)) }

// serveMore gives NFS's server its threads.
func (m Machine) serveMore(ctx context.Context) error {
	if m.find("rpc.nfsd") == "" {
		return nil
	}
	_, err := m.Command(ctx, "rpc.nfsd", strconv.Itoa(nfsThreads(runtime.NumCPU())))
	return err
}
