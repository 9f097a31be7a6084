package nodes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
)

// openFleet opens the cluster's fleet until the test ends, and then ends all
// nodes.
func openFleet(t *testing.T, l *Layout) *Fleet {
	t.Helper()
	f, err := NewFleet(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Terminate(context.WithoutCancel(t.Context()), testNodes); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func boot(t *testing.T, f *Fleet, nodes ...string) {
	t.Helper()
	if failed := f.Launch(t.Context(), providertest.Orders(nodes...), nil); len(failed) > 0 {
		t.Fatal(failed)
	}
}

// pullPlug kills a node's init process, and returns when the node is gone.
func pullPlug(t *testing.T, node string) {
	t.Helper()
	if err := PullPlug(t.Context(), AnchorProcess{PID: ownAnchor}, node); err != nil {
		t.Fatal(err)
	}
}

func TestFleet_keeps_the_contract(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		providertest.Run(t, func(t *testing.T) providertest.Place {
			return providertest.Place{
				Provider: openFleet(t, l), Nodes: testNodes, Kill: pullPlug,
				Again: func(t *testing.T) provider.Provider { return openFleet(t, l) },
			}
		})
	})
}

func TestNode_is_a_machine_of_its_own(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		boot(t, f, testNodes...)
		for _, row := range []struct{ name, line, want string }{
			{"host_name", "hostname", "q-st-r-10"},
			{"address", "echo $(hostname --all-ip-addresses)", "10.99.0.2"},
			{"network", "while read i to _ _ _ _ _ mask _; do [ $i != ens5 ] || echo $to $mask; done </proc/net/route", "0000630A 0000FFFF"},
			{"only_its_own_processes", "until grep -q muster-node /proc/1/cmdline; do :; done; tr '\\0' '\\n' </proc/1/cmdline | grep -x -A 1 muster-node | tail -1", "q-st-r-10"},
			{"other_nodes_are_reached", reach("10.99.1.254"), "yes"},
			{"the_head_node_is_reached", reach("10.99.0.1"), "yes"},
			{"scratch_is_there", "touch /scratch/x && ls /scratch", "x"},
			{"no_disk_of_the_host", "ls /dev | grep -c '^[sv]d[a-z]'", "0"},
			{"read_only_stays_so", "touch /etc/read/x 2>/dev/null || echo no", "no"},
			{"user", "id -u", strconv.Itoa(l.UID)},
		} {
			t.Run(row.name, func(t *testing.T) {
				got, err := onNode(t, l, "q-st-r-10", row.line)
				if got != row.want {
					t.Errorf("got %q (%v), want %q", got, err, row.want)
				}
			})
		}
	})
}

// reach is a command line that says yes if a machine answers: it refuses.
func reach(address string) string {
	return "timeout 10 bash -c 'exec 3<>/dev/tcp/" + address + "/1' 2>&1 | grep -q refused && echo yes"
}

// What a job does to a node stays there, and ends with it.
func TestNode_does_not_write_to_the_host(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		boot(t, f, testNodes[0], testNodes[1])
		const name = "muster-test-file"
		dirs := []string{"/tmp", "/var/tmp", "/scratch", "/run"}
		if !l.Rootless {
			dirs = append(dirs, "/usr/bin", "/etc", "/var/lib", "/root", "/opt", "/")
		}
		for _, d := range dirs {
			path := d + "/" + name
			if _, err := onNode(t, l, testNodes[0], "echo x > "+path); err != nil && !l.Rootless {
				t.Errorf("a node's root cannot write %s: %v", path, err)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s of a node is on the host: %v", path, err)
			}
			if _, err := onNode(t, l, testNodes[1], "[ ! -e "+path+" ]"); err != nil {
				t.Errorf("%s of a node is on another: %v", path, err)
			}
		}
		if _, err := onNode(t, l, testNodes[0], "rm -f /usr/bin/env"); err == nil && l.Rootless {
			t.Error("an ordinary user removed a program")
		}
		if _, err := os.Stat("/usr/bin/env"); err != nil {
			t.Errorf("a node removed a program of the host: %v", err)
		}
		if _, err := onNode(t, l, testNodes[0], "echo shared > /fsx1/"+name); err != nil {
			t.Error(err)
		}
		if got, err := onNode(t, l, testNodes[1], "cat /fsx1/"+name); got != "shared" {
			t.Errorf("shared storage shows %q: %v", got, err)
		}
		if err := f.Terminate(t.Context(), testNodes[:1]); err != nil {
			t.Fatal(err)
		}
		boot(t, f, testNodes[0])
		if _, err := onNode(t, l, testNodes[0], "[ ! -e /tmp/"+name+" ] && [ -e /usr/bin/env ] && [ -e /fsx1/"+name+" ]"); err != nil {
			t.Errorf("a new instance has what the old one did to itself: %v", err)
		}
	})
}

// Whatever runs on a node, and however it tries to get away, ends with it.
func TestNode_dies_whole(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		boot(t, f, testNodes...)
		const mark = "31415926"
		if _, err := onNode(t, l, testNodes[0], "setsid sh -c 'trap \"\" TERM HUP INT; sleep "+mark+" & exec sleep "+mark+"' >/dev/null 2>&1 &"); err != nil {
			t.Fatal(err)
		}
		until(t, "two processes", func() bool { return running(mark) == 2 })
		pullPlug(t, testNodes[0])
		if n := running(mark); n != 0 {
			t.Errorf("%d processes outlive their node", n)
		}
		if node := <-f.Ended(); node != testNodes[0] {
			t.Errorf("%s ended", node)
		}
		until(t, "cleaned up", func() bool {
			_, err := os.Stat(l.machineDir(testNodes[0]))
			return errors.Is(err, fs.ErrNotExist)
		})
		if _, err := onNode(t, l, testNodes[1], "true"); err != nil {
			t.Errorf("another node died with it: %v", err)
		}
	})
}

// running counts the sleeps of a length, dead ones left out.
func running(length string) int {
	n := 0
	for pid := range processes() {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err == nil && strings.HasPrefix(string(line), "sleep\x00"+length) && !dead(pid) {
			n++
		}
	}
	return n
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !f(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %s", what)
		}
	}
}

// A launch that was cut off in its middle leaves what the next one clears away.
func TestFleet_launches_over_what_is_left(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		boot(t, f, testNodes[0])
		pid, err := NodePID(AnchorProcess{PID: ownAnchor}, testNodes[0])
		if err != nil {
			t.Fatal(err)
		}
		f.watch.expect(pid) // so that nobody cleans up
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, "gone", func() bool { i, err := findInit(ownAnchor, testNodes[0]); return err == nil && i == nil })
		boot(t, f, testNodes[0])
		if got, err := onNode(t, l, testNodes[0], reach("10.99.0.1")); got != "yes" {
			t.Errorf("the new one does not reach the head node: %q, %v", got, err)
		}
	})
}

func TestFleet_says_why_nothing_can_be_launched(t *testing.T) {
	inWorlds(t, func(t *testing.T, l *Layout) {
		f := openFleet(t, l)
		if err := os.Remove(l.recordFile()); err != nil {
			t.Fatal(err)
		}
		failed := f.Launch(t.Context(), providertest.Orders(testNodes...), nil)
		if len(failed) != len(testNodes) || !errors.Is(failed[testNodes[0]], fs.ErrNotExist) {
			t.Errorf("without a record: %v", failed)
		}
	})
}
