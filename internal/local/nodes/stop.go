package nodes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// Traces are what a cluster had while it ran and must not leave behind.
type Traces struct {
	// Processes is how many processes there were.
	Processes int
	// namespaces are the kernel's names of those that only the cluster used.
	namespaces map[string]bool
	// started are the processes that were in them, each with its start time: the
	// kernel gives the name of a namespace that is gone to the next new one.
	started map[int]uint64
	// Theirs are mounts below the run directory that were the user's and stay.
	Theirs []string
}

// Stop ends the anchor, and so every process of the cluster, and waits for it.
// No anchor is no error.
func (l *Layout) Stop(ctx context.Context) (Traces, error) {
	a, alive := l.Alive()
	if !alive {
		return Traces{}, nil
	}
	t, err := tracesOf(a.PID)
	if err != nil {
		return t, err
	}
	fd, err := unix.PidfdOpen(a.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("open process %d: %w", a.PID, err)
	}
	defer unix.Close(fd)
	if now, still := l.Alive(); !still || now != a {
		return t, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return t, fmt.Errorf("end process %d: %w", a.PID, err)
	}
	return t, awaitEnd(ctx, fd)
}

var namespaceKinds = []string{"user", "pid", "mnt", "net", "uts", "ipc"}

// tracesOf looks at an anchor and all processes below it.
func tracesOf(anchor int) (Traces, error) {
	t := Traces{namespaces: map[string]bool{}, started: map[int]uint64{}}
	space, err := os.Readlink("/proc/" + strconv.Itoa(anchor) + "/ns/pid")
	if err != nil {
		return t, err
	}
	for pid := range processes() {
		if !inside(pid, anchor, space) {
			continue
		}
		t.Processes++
		for n := range namespacesOf(pid) {
			t.namespaces[n] = true
		}
	}
	// Those that we share with the cluster are the host's.
	for n := range namespacesOf(os.Getpid()) {
		delete(t.namespaces, n)
	}
	for pid := range processes() {
		if began, err := startTime(pid); err == nil && t.in(pid) != "" {
			t.started[pid] = began
		}
	}
	return t, nil
}

// in names a namespace of the cluster's that a process is in, if there is one.
func (t Traces) in(pid int) string {
	for n := range namespacesOf(pid) {
		if t.namespaces[n] {
			return n
		}
	}
	return ""
}

// inside tells whether a process is the anchor's or one of its descendants':
// all of those are in its process namespace or in one below.
func inside(pid, anchor int, space string) bool {
	for depth := 0; pid > 1 && depth < 64; depth++ {
		if pid == anchor {
			return true
		}
		if own, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid"); err == nil && own == space {
			return true
		}
		pid = parentOf(pid)
	}
	return false
}

func parentOf(pid int) int {
	field, err := statusField("/proc/"+strconv.Itoa(pid), "PPid")
	if err != nil || len(field) == 0 {
		return 0
	}
	parent, _ := strconv.Atoi(field[0])
	return parent
}

func processes() map[int]bool {
	pids := map[int]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids[pid] = true
		}
	}
	return pids
}

func namespacesOf(pid int) map[string]bool {
	found := map[string]bool{}
	for _, kind := range namespaceKinds {
		if n, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); err == nil {
			found[n] = true
		}
	}
	return found
}

// Leftovers names what there still is of a cluster that was stopped: processes
// in its namespaces, mounts, sockets and files below its run directory, network
// interfaces.
func (l *Layout) Leftovers(t Traces) ([]string, error) {
	var left []string
	for pid, began := range t.started {
		if now, err := startTime(pid); err != nil || now != began || dead(pid) {
			continue // a dead one's parent has yet to take note
		}
		if n := t.in(pid); n != "" {
			left = append(left, fmt.Sprintf("process %d in namespace %s", pid, n))
		}
	}
	mounts, err := l.Mounts()
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		if !slices.Contains(t.Theirs, m) {
			left = append(left, "mount "+m)
		}
	}
	sockets, err := mentions("/proc/net/unix", l.Dir+"/")
	if err != nil {
		return nil, err
	}
	for _, line := range sockets {
		left = append(left, "socket "+line)
	}
	links, err := ourLinks()
	if err != nil {
		return nil, err
	}
	left = append(left, links...)
	if _, err := os.Stat(filepath.Join(l.Dir, "cluster.json")); !errors.Is(err, fs.ErrNotExist) {
		left = append(left, "file "+filepath.Join(l.Dir, "cluster.json"))
	}
	return left, nil
}

func mentions(file, text string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, text) {
			found[strings.TrimSpace(line)] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// ourLinks are network interfaces of the host whose names are those of a
// cluster's. There never should be one: clusters have a network of their own.
func ourLinks() ([]string, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, k := range links {
		if k.Type() == "veth" && strings.HasPrefix(k.Attrs().Name, machine.PortPrefix) {
			found = append(found, "network interface "+k.Attrs().Name)
		}
	}
	return found, nil
}
