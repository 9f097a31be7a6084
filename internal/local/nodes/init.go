package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// nodeInit is the init process of a node that runs.
type nodeInit struct {
	name  string
	pid   int
	began time.Time
}

// ownAnchor is the anchor's process ID for the processes of its cluster.
const ownAnchor = 1

// nodeInits finds the nodes of an anchor that run: processes with a node's mark
// that are the first of a process namespace right below the anchor's.
func nodeInits(anchor int) ([]nodeInit, error) {
	space, depth, err := processSpace(anchor)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var inits []nodeInit
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		name, ok := nodeOf(pid, depth+1)
		if !ok || anchor != ownAnchor && !inside(pid, anchor, space) {
			continue
		}
		began, err := beganAt(pid)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it ended just now
		}
		if err != nil {
			return nil, err
		}
		inits = append(inits, nodeInit{name: name, pid: pid, began: began})
	}
	return inits, nil
}

// findInit is a node's own, nil if it does not run.
func findInit(anchor int, name string) (*nodeInit, error) {
	inits, err := nodeInits(anchor)
	i := slices.IndexFunc(inits, func(i nodeInit) bool { return i.name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	return &inits[i], nil
}

// processSpace is the kernel's name of a process's process namespace, and how
// deep that lies below the caller's, which is 1.
func processSpace(pid int) (space string, depth int, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	if space, err = os.Readlink(proc + "/ns/pid"); err != nil {
		return "", 0, err
	}
	ids, err := namespaceIDs(proc)
	return space, len(ids), err
}

// namespaceIDs are the IDs of a process in every process namespace that it is
// in, the caller's first.
func namespaceIDs(proc string) ([]string, error) { return statusField(proc, "NSpid") }

// statusField are the words of a line of a process's status, proc(5).
func statusField(proc, name string) ([]string, error) {
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(string(status), "\n"+name+":")
	line, _, _ := strings.Cut(after, "\n")
	return strings.Fields(line), nil
}

// nodeOf tells which node a process is the init of, if it is the first process
// of a process namespace at this depth. Others may have a node's mark in their command lines, too.
func nodeOf(pid, depth int) (name string, ok bool) {
	line := commandLine(pid, depth)
	_, rest, ok := bytes.Cut(line, []byte("\x00"+nodeMark+"\x00"))
	if !ok {
		return "", false
	}
	first, _, _ := bytes.Cut(rest, []byte{0})
	name = string(first)
	return name, nodeName(name) && firstAt(pid, depth)
}

// firstAt tells whether a process is the first of a process namespace at a depth.
func firstAt(pid, depth int) bool {
	ids, err := namespaceIDs("/proc/" + strconv.Itoa(pid))
	return err == nil && len(ids) == depth && ids[depth-1] == "1"
}

// execWait is longer than a program needs to become another, even where much else computes. Only a program that hides its
// command line keeps anybody waiting so long.
const execWait = 2 * time.Second

// commandLine is a process's command line. It is empty while the process turns
// into another program, as a node's init does when it starts: for that it waits.
func commandLine(pid, depth int) []byte {
	file := "/proc/" + strconv.Itoa(pid) + "/cmdline"
	line, err := readOnce(file)
	for end := time.Now().Add(execWait); err == nil && len(line) == 0; line, err = readOnce(file) {
		if !firstAt(pid, depth) || dead(pid) || time.Now().After(end) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return line
}

// mostRead is more than the command line of a node's init has, in bytes.
const mostRead = 16 << 10

// readOnce reads the beginning of a file of /proc with one call. With several, a process that turns into another program meanwhile shows the
// beginning of one command line and the rest of another, or nothing behind it: a node would not be seen.
func readOnce(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := make([]byte, mostRead)
	n, err := f.Read(line)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line[:n], err
}

// beganAt is when a process started. The kernel counts in hundredths of a
// second since boot (USER_HZ is 100 on every architecture that we build for).
func beganAt(pid int) (time.Time, error) {
	ticks, err := startTime(pid)
	if err != nil {
		return time.Time{}, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Time{}, err
	}
	age := time.Duration(now.Nano()) - time.Duration(ticks)*(time.Second/100)
	return time.Now().Add(-age), nil
}

// kill ends the init process, and with it all of the node, and waits for it.
func (i nodeInit) kill(ctx context.Context) error {
	fd, err := unix.PidfdOpen(i.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// Only now does the number surely mean the process that we looked at.
	if name, ok := nodeOf(i.pid, 2); !ok || name != i.name {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return awaitEnd(ctx, fd)
}

const endWait = 10 * time.Second

// awaitEnd waits until the process behind a pidfd has ended.
func awaitEnd(ctx context.Context, fd int) error {
	for end := time.Now().Add(endWait); time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return fmt.Errorf("still there %s after SIGKILL", endWait)
}
