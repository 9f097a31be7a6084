package load_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/pairs"
	"github.com/muster-hpc/muster/test/soak"
)

// cluster is some network namespaces on a bridge of their own, which is in a namespace too.
type cluster struct {
	switchFD int
	fds      []int
}

// newNetwork makes a network namespace on a thread that ends with it, and keeps it by a file.
func newNetwork(t *testing.T) int {
	t.Helper()
	made := make(chan int)
	go func() {
		runtime.LockOSThread() // for good: the thread is in the namespace and ends with the goroutine
		fd := -1
		if unix.Unshare(unix.CLONE_NEWNET) == nil {
			fd, _ = unix.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		made <- fd
	}()
	fd := <-made
	if fd < 0 {
		t.Fatal("cannot make a network namespace")
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// inside runs a function on a thread in a namespace, to its end.
func inside(fd int, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			panic(err)
		}
		do()
	}()
	<-done
}

func ip(t *testing.T, fd int, lines ...string) {
	t.Helper()
	inside(fd, func() {
		for _, line := range lines {
			words := strings.Fields(line)
			if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", line, err, out)
			}
		}
	})
}

func newCluster(t *testing.T, nodes int) *cluster {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("network namespaces need root")
		}
		t.Skip("network namespaces need root")
	}
	c := &cluster{switchFD: newNetwork(t)}
	ip(t, c.switchFD, "ip link add name switch0 type bridge", "ip link set dev switch0 up")
	for i := range nodes {
		fd := newNetwork(t)
		c.fds = append(c.fds, fd)
		self := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
		ip(t, c.switchFD, fmt.Sprintf("ip link add v%d type veth peer name eth0 netns %s", i, self), fmt.Sprintf("ip link set v%d master switch0 up", i))
		ip(t, fd, fmt.Sprintf("ip addr add 10.9.0.%d/24 dev eth0", i+1), "ip link set eth0 up", "ip link set lo up")
	}
	return c
}

// asWorker is this test's program as a worker, when it is started as one.
const asWorker = "MUSTER_TEST_TRAFFIC_WORKER"

// TestTrafficWorker is a worker where it is started as one, and nothing else.
func TestTrafficWorker(t *testing.T) {
	if node := os.Getenv(asWorker); node != "" {
		if err := load.ServeTraffic(t.Context(), os.Stdin, os.Stdout, node); err != nil {
			t.Log(err)
		}
	}
}

// workers starts a worker in each namespace, as a process.
func (c *cluster) workers(t *testing.T, nodes []string) *step {
	place := map[string]int{}
	for i, n := range nodes {
		place[n] = i
	}
	return startStep(t, nodes, func(node string, in io.Reader, out io.Writer) {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestTrafficWorker$")
		cmd.Env = append(os.Environ(), asWorker+"="+node)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		to, _ := cmd.StdinPipe()
		from, _ := cmd.StdoutPipe()
		inside(c.fds[place[node]], func() {
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(to, in); _ = to.Close() }()
			for lines := bufio.NewScanner(from); lines.Scan(); {
				_, _ = out.Write(append(lines.Bytes(), '\n'))
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	})
}

// search measures as a suite does, and says what it found.
func search(t *testing.T, s *step, nodes []string, o load.TrafficOptions, seconds float64) []pairs.Suspect {
	t.Helper()
	o.In, o.Out, o.Nodes, o.Towards = s.out, s.in, nodes, "10.9.0.254"
	traffic, err := load.OpenTraffic(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	look := pairs.New(nodes, 7)
	for {
		round := look.Next()
		if len(round) == 0 {
			break
		}
		var all []load.Pair
		for _, p := range round {
			all = append(all, load.Pair(p))
		}
		var got []pairs.Measured
		for _, m := range traffic.Round(t.Context(), all, seconds) {
			t.Logf("round %d: %s with %s: %.3f and %.3f GB/s, %.0f us, p99 %.0f us %s", look.Rounds(), m.A, m.B, m.AB, m.BA, m.MedianUs, m.P99Us, m.Err)
			got = append(got, pairs.Measured{A: m.A, B: m.B, GBps: min(m.AB, m.BA), LatencyUs: m.MedianUs, Err: m.Err})
		}
		look.Take(got)
	}
	if err := traffic.Close(); err != nil {
		t.Error(err)
	}
	return look.Verdicts()
}

// TestSoak_traffic_finds_slow finds the one of eight nodes whose card is slow, or that is cut off, and no other. All share this
// machine's processors, so that pairs send no more than a part of what these can.
func TestSoak_traffic_finds_slow(t *testing.T) {
	soak.Only(t, "measures bandwidths; TestVerify finds a slow node of a cluster")
	nodes := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}
	for _, c := range []struct {
		name string
		tc   string
		dead bool
	}{
		{"rate", "tc qdisc add dev eth0 root tbf rate 40mbit burst 64kb latency 50ms", false},
		{"cut", "ip link set eth0 down", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newCluster(t, len(nodes))
			ip(t, cluster.fds[4], c.tc)
			s := cluster.workers(t, nodes)
			var guilty []string
			found := search(t, s, nodes, load.TrafficOptions{Streams: 2, CapGBps: 0.02}, 1)
			for _, x := range found {
				if x.Sure {
					guilty = append(guilty, x.Node+x.A+x.B)
				}
			}
			if fmt.Sprint(guilty) != "[n5]" || found[0].Dead != c.dead {
				t.Errorf("found %+v", found)
			}
		})
	}
}
