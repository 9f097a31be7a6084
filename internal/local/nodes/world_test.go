package nodes

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Nodes are made inside the namespaces of an anchor. Here the anchor is this
// test's binary, as the first process of namespaces of its own; insideVar is its
// run directory.
const (
	insideVar   = "MUSTER_LOCAL_TEST_DIR"
	rootlessVar = "MUSTER_LOCAL_TEST_USER"
	// plainUser stands for an ordinary user of the machine.
	plainUser = 54321
)

// inWorlds runs a test in an anchor of root's and in one of an ordinary user's.
// It is called by the test itself, which goes on inside with what it is given.
func inWorlds(t *testing.T, test func(t *testing.T, l *Layout)) {
	if dir := os.Getenv(insideVar); dir != "" {
		test(t, world(t, dir))
		return
	}
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("it must be root's")
		}
		t.Skip("needs root, who can be anybody")
	}
	t.Run("root", func(t *testing.T) { goInside(t, 0) })
	t.Run("user", func(t *testing.T) { goInside(t, plainUser) })
}

// goInside runs the calling test once more, in namespaces of their own.
func goInside(t *testing.T, uid int) {
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("something is left: %v", err)
		}
	})
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	// Its own name may lead through folders that the user may not enter.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+name+"$", "-test.v", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), insideVar+"="+dir, "TMPDIR="+dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if uid != 0 {
		cmd.Env = append(cmd.Env, rootlessVar+"=1")
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.Credential = &syscall.Credential{NoSetGroups: true}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// world makes the anchor's namespaces into a cluster without services: three
// nodes on record, and what they need to boot.
func world(t *testing.T, dir string) *Layout {
	l := &Layout{Dir: dir}
	r := Record{Name: "t", HeadName: "t-head", ScratchDirs: []string{"/scratch"}}
	if os.Getenv(rootlessVar) != "" {
		l.Rootless, l.UID, l.GID = true, plainUser, plainUser
	}
	addresses := map[string]netip.Addr{}
	for i, n := range testNodes {
		addresses[n] = netip.AddrFrom4([4]byte{10, 99, 1, byte(254 + i)})
	}
	addresses[testNodes[2]] = FirstNodeAddress
	for _, d := range []string{"log/nodes", "nodes", "etc", "shared"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.makeWorld(r); err != nil {
		t.Fatal(err)
	}
	started, err := startTime(ownAnchor)
	if err != nil {
		t.Fatal(err)
	}
	r.Shared = []Mount{{Source: l.Path("shared"), Target: "/fsx1"}, {Source: l.Path("etc"), Target: "/etc/read", ReadOnly: true}}
	for _, err := range []error{
		whole.JSON(l.anchorFile(), AnchorProcess{PID: ownAnchor, Started: started}),
		l.ChangeRecord(func(Record) Record { return r }),
		os.WriteFile(l.hostsFile(), []byte(Hosts("t-head", addresses)), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

var testNodes = []string{"q-dy-r-1", "q-dy-r-2", "q-st-r-10"}

// onNode runs a command line on a node, as the cluster's user.
func onNode(t *testing.T, l *Layout, node, line string) (string, error) {
	t.Helper()
	pid, err := NodePID(AnchorProcess{PID: ownAnchor}, node)
	if err != nil {
		t.Fatal(err)
	}
	// NodeCommand enters the anchor's user namespace, too, in which this process is.
	args := append([]string{"--target=" + strconv.Itoa(pid), "--pid", "--net", "--ipc", "--uts", "--mount", "--wdns=/", "--"}, l.Become("")...)
	cmd := exec.CommandContext(t.Context(), "nsenter", append(args, "/bin/sh", "-c", line)...)
	cmd.Env = []string{"PATH=" + systemPath}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s on %s: %w: %s", line, node, err, out)
	}
	return strings.TrimSpace(string(out)), err
}
