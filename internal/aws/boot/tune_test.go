package boot

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTune(t *testing.T) {
	kernel := map[string]string{"kernel/yama/ptrace_scope": "1", "net/core/somaxconn": "4096", "net/ipv4/tcp_max_syn_backlog": "512", "fs/protected_regular": "2"}
	for name, row := range map[string]struct {
		tuning  Tuning
		release string
		want    string
	}{
		"compute":         {Tuning{}, "ID=amzn", "as it was"},
		"compute_efa":     {Tuning{EFA: true}, "ID=amzn", "kernel.yama.ptrace_scope=0"},
		"compute_ubuntu":  {Tuning{EFA: true}, "ID=ubuntu", "kernel.yama.ptrace_scope=0"},
		"head":            {Tuning{Head: true}, "ID=rhel", "net.core.somaxconn=65535, net.ipv4.tcp_max_syn_backlog=65535"},
		"threads_by_ec2":  {Tuning{OneThread: true}, "ID=amzn", "one thread on each core"},
		"without_systemd": {Tuning{EFA: true, OneThread: true}, "", "left alone: no systemd"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machineOf(t, &fake{}, "")
			for at, text := range kernel {
				put(t, m, "/proc/sys/"+at, text+"\n")
			}
			put(t, m, smtActive, "0\n")
			put(t, m, "/etc/os-release", "NAME=x\n"+row.release+"\n")
			if row.release != "" {
				put(t, m, "/run/systemd/system/x", "")
			}
			got, err := m.Tune(t.Context(), row.tuning)
			if err != nil || got != row.want {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
		})
	}
}

// TestTune_threads: metal machines have two threads on a core whatever their launch
// template says, and a kernel that keeps them is an error.
func TestTune_threads(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	put(t, m, "/run/systemd/system/x", "")
	put(t, m, smtActive, "1\n")
	put(t, m, smtControl, "on\n")
	_, err := m.Tune(t.Context(), Tuning{OneThread: true})
	if want := "leave one thread on each core, as the file wants it: the kernel goes on with two"; text(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got, _ := m.Read(smtControl); got != "off\n" {
		t.Errorf("the kernel was told %q", got)
	}
	// A kernel that obeys says so at the same place: here, control and active are one file.
	if err := os.Remove(m.path(smtActive)); err != nil {
		t.Fatal(err)
	}
	put(t, m, smtControl, "1\n")
	if err := os.Link(m.path(smtControl), m.path(smtActive)); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Tune(t.Context(), Tuning{OneThread: true}); err != nil || got != "one thread on each core now" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNFSThreads(t *testing.T) {
	for processors, want := range map[int]int{1: 8, 2: 8, 8: 32, 64: 256, 192: 256} {
		if got := nfsThreads(processors); got != want {
			t.Errorf("%d processors: %d threads, want %d", processors, got, want)
		}
	}
	f := &fake{}
	m := machineOf(t, f, "")
	put(t, m, "/run/systemd/system/x", "")
	if _, err := m.Export(t.Context(), []string{"/home"}, nil); err != nil {
		t.Fatal(err)
	}
	if conf, err := m.Read(nfsConf); err != nil || !strings.Contains(conf, "\nvers3=n\n") {
		t.Errorf("%s has %q, %v", nfsConf, conf, err)
	}
	if !slices.ContainsFunc(f.ran, func(s string) bool { return strings.HasPrefix(s, "rpc.nfsd ") }) {
		t.Errorf("ran %q", f.ran)
	}
}
