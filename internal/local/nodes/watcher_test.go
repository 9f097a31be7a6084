package nodes

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Between fork and exec, a program that is being started has copies of this process's descriptors. The kernel then
// still knows a pidfd that was closed here. The end of its process is reported once all the same, and what belongs to
// other machines stays.
func TestFleet_tells_an_end_once(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		boot(t, f, testNodes...)
		var copies []int
		for _, fd := range pidfds(t) {
			dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(dup)
			copies = append(copies, dup)
		}
		if len(copies) != len(testNodes) {
			t.Fatalf("%d nodes are watched by %d pidfds", len(testNodes), len(copies))
		}
		for _, n := range testNodes[:2] {
			pid, err := NodePID(AnchorProcess{PID: ownAnchor}, n)
			if err != nil {
				t.Fatal(err)
			}
			pullPlug(t, n)
			if got := <-f.Ended(); got != n {
				t.Fatalf("%q ended, want %q", got, n)
			}
			if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the first process of %s is not reaped: %v", n, err)
			}
		}
		if all := pidfds(t); len(all) != len(copies)+1 {
			t.Errorf("pidfds %v are open, want one besides the copies %v", all, copies)
		}
		if got, err := onNode(t, l, testNodes[2], "ls /usr/bin/env && touch /tmp/x && ls /tmp"); got != "/usr/bin/env\nx" {
			t.Errorf("the end of others left a node with %q, %v", got, err)
		}
	})
}

// pidfds are this process's.
func pidfds(t *testing.T) (found []int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || !strings.Contains(to, "pidfd") {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fd)
	}
	return found
}
