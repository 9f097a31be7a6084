package load_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify/load"
)

// step is what srun does: it gives its input to all tasks, and their lines to its output.
type step struct {
	in    io.WriteCloser
	out   *io.PipeReader
	tasks []io.WriteCloser
	ends  sync.WaitGroup
}

// startStep runs a task for each node. A task writes whole lines.
func startStep(t *testing.T, nodes []string, task func(node string, in io.Reader, out io.Writer)) *step {
	t.Helper()
	r, w := io.Pipe()
	said, saying := io.Pipe()
	s := &step{in: w, out: said}
	var tasks sync.WaitGroup
	for _, n := range nodes {
		in, to := io.Pipe()
		s.tasks = append(s.tasks, to)
		tasks.Go(func() {
			task(n, in, saying)
			_ = in.Close()
		})
	}
	s.ends.Go(func() {
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadBytes('\n')
			for _, to := range s.tasks {
				_, _ = to.Write(line) // a task that has ended hears nothing
			}
			if err != nil {
				break
			}
		}
		for _, to := range s.tasks {
			_ = to.Close()
		}
	})
	s.ends.Go(func() {
		tasks.Wait()
		_ = saying.Close()
	})
	t.Cleanup(func() {
		_ = s.in.Close()
		go func() { _, _ = io.Copy(io.Discard, said) }()
		s.ends.Wait()
	})
	return s
}

func serve(t *testing.T) func(string, io.Reader, io.Writer) {
	return func(node string, in io.Reader, out io.Writer) {
		if err := load.ServeTraffic(t.Context(), in, out, node); err != nil {
			t.Logf("%s: %v", node, err)
		}
	}
}

func TestTraffic(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	s := startStep(t, nodes, serve(t))
	traffic, err := load.OpenTraffic(t.Context(), load.TrafficOptions{In: s.out, Out: s.in, Nodes: nodes, Towards: "127.0.0.1", Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i, m := range traffic.Round(t.Context(), []load.Pair{{"a", "b"}, {"d", "c"}}, 0.4) {
			if m.Err != "" || m.AB <= 0 || m.BA <= 0 || m.MedianUs <= 0 || m.P99Us < m.MedianUs {
				t.Errorf("pair %d: %+v", i, m)
			}
		}
	}
	if m := traffic.Round(t.Context(), []load.Pair{{"a", "nobody"}}, 0.1); !strings.Contains(m[0].Err, "no worker") {
		t.Errorf("got %+v", m)
	}
	if err := traffic.Close(); err != nil {
		t.Error(err)
	}
	if m := traffic.Round(t.Context(), []load.Pair{{"a", "b"}}, 0.1); m[0].Err == "" {
		t.Errorf("after its end: %+v", m)
	}
}

// TestTrafficCap has a pair send no more than it may.
func TestTrafficCap(t *testing.T) {
	nodes := []string{"a", "b"}
	s := startStep(t, nodes, serve(t))
	traffic, err := load.OpenTraffic(t.Context(), load.TrafficOptions{In: s.out, Out: s.in, Nodes: nodes, Towards: "127.0.0.1", CapGBps: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	m := traffic.Round(t.Context(), []load.Pair{{"a", "b"}}, 1)[0]
	if m.Err != "" || m.AB > 0.065 || m.BA > 0.065 || m.AB < 0.01 {
		t.Errorf("got %+v", m)
	}
	if err := traffic.Close(); err != nil {
		t.Error(err)
	}
}

// TestTrafficBroken has workers that die, hang or lie: each is an error of its pair, in time, and no other pair's.
func TestTrafficBroken(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	nodes := []string{"a", "b", "dead", "x", "gone", "y", "mute", "z", "liar", "late"}
	s := startStep(t, nodes, func(node string, in io.Reader, out io.Writer) {
		switch node {
		case "dead": // it never starts
		case "gone": // it is ready, and then it ends
			begun, ready := io.Pipe()
			go func() {
				line, _ := bufio.NewReader(in).ReadBytes('\n')
				_, _ = ready.Write(line)
				_ = ready.Close()
			}()
			_ = load.ServeTraffic(t.Context(), begun, out, node)
		case "mute": // it accepts, and says nothing
			fmt.Fprintf(out, `{"node":"mute","kind":"ready","address":%q}`+"\n", mute.Addr())
			_, _ = io.Copy(io.Discard, in)
		case "liar":
			fmt.Fprintf(out, "%s\n{\"node\":\"liar\",\"kind\":\"ready\",\"address\":\"; rm -rf\"}\n", strings.Repeat("x", 100_000))
			_, _ = io.Copy(io.Discard, in)
		default:
			serve(t)(node, in, out)
		}
	})
	traffic, err := load.OpenTraffic(t.Context(), load.TrafficOptions{In: s.out, Out: s.in, Nodes: nodes, Towards: "127.0.0.1", ReadyWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	got := traffic.Round(ctx, []load.Pair{{"a", "b"}, {"dead", "x"}, {"y", "gone"}, {"z", "mute"}, {"liar", "late"}}, 0.4)
	for i, want := range []string{"", "dead: its worker did not start", "refused", "prove the token", "liar: it told an address that is none"} {
		if (got[i].Err == "") != (want == "") || !strings.Contains(got[i].Err, want) {
			t.Errorf("pair %d: %+v, want %q", i, got[i], want)
		}
	}
	if err := traffic.Close(); err != nil {
		t.Error(err)
	}
}

// TestTrafficStranger has a worker that answers nobody who does not know the token, and ends with its input.
func TestTrafficStranger(t *testing.T) {
	in, to := io.Pipe()
	from, out := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if err := load.ServeTraffic(t.Context(), in, out, "a"); err != nil {
			t.Error(err)
		}
		_ = out.Close()
	})
	fmt.Fprintf(to, `{"do":"open","token":"%s","towards":"127.0.0.1"}`+"\n", strings.Repeat("ab", 32))
	lines := bufio.NewReader(from)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Address string }
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", said.Address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(bytes.Repeat([]byte{'e'}, 56)); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn)
	if len(answer) != 16 {
		t.Errorf("a stranger hears %d bytes, want the 16 of the nonce", len(answer))
	}
	_ = to.Close()
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	running.Wait()
	if conn, err := net.Dial("tcp", said.Address); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}
