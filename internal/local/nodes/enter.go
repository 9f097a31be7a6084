package nodes

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Alive tells whether the cluster's anchor runs, and gives its process. A zombie counts
// as ended: in many containers the first process does not reap. Where its record is lost, it is found by what it is.
func (l *Layout) Alive() (AnchorProcess, bool) {
	var a AnchorProcess
	if err := readJSON(l.anchorFile(), &a); err != nil {
		return l.findAnchor()
	}
	state, started, err := readStat(a.PID)
	return a, err == nil && started == a.Started && !over(state)
}

// Ended says how an anchor that is dead has ended, if the caller started it. Its other
// threads may take a moment longer than the first.
func (a AnchorProcess) Ended() string {
	var ws unix.WaitStatus
	pid, err := unix.Wait4(a.PID, &ws, 0, nil)
	switch {
	case err != nil || pid != a.PID:
		return "for an unknown reason"
	case ws.Signaled():
		return "by signal " + unix.SignalName(ws.Signal())
	}
	return "with exit code " + strconv.Itoa(ws.ExitStatus())
}

// HeadCommand is the command line that runs args on the head node, in dir, as
// the cluster's user, with no more rights than jobs have. It is nsenter's, because a program of many threads cannot
// enter a user namespace itself.
func (l *Layout) HeadCommand(a AnchorProcess, dir string, args []string) []string {
	return l.enter(a.PID, "/proc/"+strconv.Itoa(a.PID)+"/fd/"+strconv.Itoa(headMount), dir, args)
}

// NodeCommand is the command line that runs args on a node whose init process
// has this ID in the host's process namespace, with no more rights than jobs have
// there.
func (l *Layout) NodeCommand(pid int, dir string, args []string) []string {
	return l.enter(pid, "/proc/"+strconv.Itoa(pid)+"/ns/mnt", dir, args)
}

// enter names every namespace by its file: with --target, nsenter of util-linux
// 2.41 enters them before the user namespace that allows it. The program is nsenter's
// child, and hears SIGTERM when that is killed.
func (l *Layout) enter(pid int, mounts, dir string, args []string) []string {
	spaces := "/proc/" + strconv.Itoa(pid) + "/ns/"
	line := []string{"/usr/bin/nsenter"}
	if l.Rootless {
		user := l.userNamespace(pid)
		line = append(line, "--user="+user, "--preserve-credentials")
	}
	line = append(line, "--pid="+spaces+"pid", "--net="+spaces+"net", "--ipc="+spaces+"ipc", "--uts="+spaces+"uts",
		"--mount="+mounts, "--wdns="+dir, "--")
	line = append(append(line, l.Become("")...), "/usr/bin/setpriv", "--pdeathsig=TERM")
	if !l.Rootless {
		line = append(line, "--bounding-set="+droppedCapabilities)
	}
	return append(append(line, "--"), args...)
}

// userNamespace is the namespace in which the cluster's machines were made. A
// node's init process has gone one deeper, so it is always the anchor's.
func (l *Layout) userNamespace(pid int) string {
	if a, ok := l.Alive(); ok {
		pid = a.PID
	}
	return "/proc/" + strconv.Itoa(pid) + "/ns/user"
}

// Become is the start of a command line that runs as another user of the
// machine; empty is the cluster's own user. Without root there is only that one,
// and the command line leaves the cluster's user namespace for one in which the
// user has the usual ID.
func (l *Layout) Become(user string) []string {
	if l.Rootless {
		return []string{"/usr/bin/unshare", "--user", "--map-user=" + strconv.Itoa(l.UID), "--map-group=" + strconv.Itoa(l.GID), "--"}
	}
	if user == "" {
		return nil
	}
	return []string{"/usr/bin/setpriv", "--reuid=" + user, "--regid=" + user, "--init-groups", "--"}
}

// HeadRunner runs programs on the head node for a process of the cluster that is
// beside it, such as the controller.
type HeadRunner struct {
	exec   slurm.Exec
	prefix []string
}

// HeadRunner returns a runner for a process in the anchor's own namespaces.
func (l *Layout) HeadRunner() HeadRunner {
	prefix := []string{"/usr/bin/nsenter", "--mount=/proc/1/fd/" + strconv.Itoa(headMount), "--wdns=/", "--"}
	return HeadRunner{prefix: append(prefix, l.Become("")...)}
}

// HeadAs is the start of a command line that runs on the head node as a user with these numbers,
// for a process in the anchor's own namespaces.
func (l *Layout) HeadAs(uid, gid int) []string {
	r := l.HeadRunner()
	if l.Rootless {
		return r.prefix
	}
	return append(r.prefix, "/usr/bin/setpriv", "--reuid="+strconv.Itoa(uid), "--regid="+strconv.Itoa(gid), "--init-groups",
		"--no-new-privs", "--bounding-set="+droppedCapabilities, "--")
}

// Run runs a program and returns what it printed.
func (r HeadRunner) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := slices.Concat(r.prefix[1:], []string{name}, args)
	return r.exec.Run(ctx, r.prefix[0], line...)
}

// NodePID is the process ID of a node's init process, as the caller sees it.
func NodePID(a AnchorProcess, node string) (int, error) {
	i, err := findInit(a.PID, node)
	if err == nil && i == nil {
		err = fmt.Errorf("node %s is not running", node)
	}
	if err != nil {
		return 0, err
	}
	return i.pid, nil
}
