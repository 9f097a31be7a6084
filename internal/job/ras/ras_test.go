package ras_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/ras"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestParse_recorded reads every report that was recorded.
func TestParse_recorded(t *testing.T) {
	paths, err := filepath.Glob("testdata/*nccl-doc-0*.txt")
	if err != nil {
		t.Fatal(err)
	}
	others, _ := filepath.Glob("testdata/*ras-[v2]*")
	jsons, _ := filepath.Glob("testdata/nccl-doc-07*")
	rasd, _ := filepath.Glob("testdata/rasd-*")
	var b strings.Builder
	for _, path := range slices.Concat(paths, others, jsons, rasd) {
		name := filepath.Base(path)
		if strings.Contains(name, "monitor") || strings.Contains(name, "says") {
			continue
		}
		r, err := ras.Parse(sample(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%s\n", name, text)
	}
	golden.Check(t, "reports.txt", b.String())
}

// TestFrozen_recorded: what NVIDIA's service said before a rank was stopped, and after, in JSON and in text.
func TestFrozen_recorded(t *testing.T) {
	read := func(name string) ras.Report {
		r, err := ras.Parse(sample(t, "rasd-2.30.7-"+name))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, row := range []struct {
		before, now          string
		behind, silent, dead int
	}{
		{"behind.json", "behind.json", 1, 0, 0}, {"behind.json", "stopped.json", 0, 1, 0}, {"stopped.json", "dead.json", 0, 0, 1}, {"behind.txt", "behind.txt", 1, 0, 0},
	} {
		s := ras.Frozen(read(row.before), read(row.now))
		if !s.Known || !s.Frozen || len(s.Behind) != row.behind || len(s.Silent) != row.silent || len(s.Dead) != row.dead {
			t.Errorf("%s, %s: got %+v", row.before, row.now, s)
		}
		for _, p := range slices.Concat(s.Behind, s.Silent, s.Dead) {
			if p.Rank != 1 || p.PID != 16857 {
				t.Errorf("%s, %s: it is %+v", row.before, row.now, p)
			}
		}
	}
	if s := ras.Frozen(read("behind.txt"), read("stopped.txt")); s.Known || len(s.Silent) != 1 {
		t.Errorf("text tells no counts of those that agree: %+v", s)
	}
}

// TestParse_text has what NCCL's source prints and no sample shows.
func TestParse_text(t *testing.T) {
	const text = `
Errors
======

INCOMPLETE
  Missing communicator data from 2 job processes
  Process 3487984 on node 172.16.64.213 managing GPU 5
  [could not find information on 1 process]

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 12 on node n1 managing GPUs 0,1(3)

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 2 ranks
  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213
  Rank 22 -- [process information not found]

Warnings
========

TIMEOUT
  Encountered 3 communication timeouts while gathering communicator data

#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different AllReduce operation counts
  30 ranks have launched up to operation 64
  Rank 7 has not launched any operations -- GPU 3 managed by process 5 on node n2
`
	r, err := ras.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if r.SilentCount != 2 || len(r.Silent) != 1 || r.Silent[0].PID != 3487984 || r.DeadCount != 1 || len(r.Dead) != 1 || r.Dead[0].GPU != "0,1(3)" || r.Timeouts != 3 {
		t.Errorf("got %+v", r)
	}
	if len(r.Notes) != 2 || len(r.Notes[0].Odd) != 2 || r.Notes[1].Operation != "AllReduce" || r.Notes[1].Most != 64 || r.Notes[1].Many != 30 || r.Notes[1].Odd[0].Rank != 7 || r.Notes[1].Odd[0].Host != "n2" {
		t.Errorf("got %+v", r.Notes)
	}
	if stand := ras.Frozen(r, r); !stand.Known || !stand.Frozen || len(stand.Behind) != 1 || stand.Behind[0].Rank != 7 {
		t.Errorf("got %+v", stand)
	}
}

func TestParse_refuses_what_is_none(t *testing.T) {
	for _, text := range []string{"", "hello", "{", `{"communicators": 1}`, "HTTP/1.1 400 Bad Request\r\n\r\n", "ERROR: Unknown command x\n"} {
		if r, err := ras.Parse([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

// job is a report of two ranks in one communicator.
func job(one, two uint64) ras.Report {
	rank := func(n int, launched uint64) ras.Rank {
		return ras.Rank{Process: ras.Process{Rank: n, Host: fmt.Sprintf("h%d", n), PID: 10 + n}, Launched: map[string]uint64{"AllReduce": launched, "Broadcast": 1}}
	}
	return ras.Report{Comms: []ras.Comm{{Hash: "0x1", Second: "a", Size: 2, Ranks: []ras.Rank{rank(0, one), rank(1, two)}}}}
}

func TestFrozen(t *testing.T) {
	lost := job(4, 4)
	lost.Comms[0].Ranks = lost.Comms[0].Ranks[:1]
	lost.Dead = []ras.Process{{Rank: 1, Host: "h1"}}
	other := job(4, 4)
	other.Comms[0].Hash = "0x2"
	for _, row := range []struct {
		name          string
		before, now   ras.Report
		known, frozen bool
		behind        int
	}{
		{"moves", job(4, 4), job(5, 5), true, false, 0},
		{"one_moves", job(4, 4), job(4, 5), true, false, 1},
		{"stands_together", job(4, 4), job(4, 4), true, true, 0},
		{"stands_and_waits_for_one", job(5, 4), job(5, 4), true, true, 1},
		{"one_is_lost", job(4, 4), lost, true, true, 0},
		{"one_is_back", lost, job(4, 4), true, false, 0},
		{"another_communicator", job(4, 4), other, true, false, 0},
		{"nothing", ras.Report{}, ras.Report{}, false, false, 0},
		{"before_there_was_one", ras.Report{}, job(1, 1), false, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ras.Frozen(row.before, row.now)
			if got.Known != row.known || got.Frozen != row.frozen || len(got.Behind) != row.behind || len(got.Dead) != len(row.now.Dead) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// server is NCCL's end of the protocol, for one connection. It returns what it was told.
func server(conn net.Conn, body []byte, knowsJSON bool) string {
	defer conn.Close()
	said := ""
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		line := lines.Text()
		said += line + "\n"
		switch upper := strings.ToUpper(line); {
		case strings.HasPrefix(upper, "CLIENT PROTOCOL "):
			fmt.Fprint(conn, "SERVER PROTOCOL 2\n")
		case strings.HasPrefix(upper, "TIMEOUT "), upper == "SET FORMAT JSON" && knowsJSON:
			fmt.Fprint(conn, "OK\n")
		case upper == "STATUS", upper == "VERBOSE STATUS":
			conn.Write(body)
			return said
		default:
			fmt.Fprintf(conn, "ERROR: Unknown command %s\n", line)
		}
	}
	return said
}

// talk has a client ask a server at the other end of a connection.
func talk(t *testing.T, wait time.Duration, serve func(net.Conn)) (ras.Report, error) {
	t.Helper()
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(there)
	}()
	r, err := ras.Ask(t.Context(), here, wait)
	here.Close()
	<-done
	return r, err
}

// TestAsk speaks as NCCL's own client does, and reads JSON and, from older ones, text.
func TestAsk(t *testing.T) {
	for _, row := range []struct {
		name, file string
		json       bool
	}{
		{"json", "nccl-doc-07-json-missing-rank.json", true},
		{"json_without_a_comma", "ras-2.28.9-missing-comma-INVALID.json", true},
		{"text", "ncclras-v-2.30.7-full.txt", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			body, said := sample(t, row.file), ""
			got, err := talk(t, 8*time.Second, func(c net.Conn) { said = server(c, body, row.json) })
			if err != nil {
				t.Fatal(err)
			}
			want, err := ras.Parse(body)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %+v, want %+v, %v", got, want, err)
			}
			if theirs := string(sample(t, "ncclras-2.30.7-says.txt")); said != theirs {
				t.Errorf("we say %q, NCCL's own client %q", said, theirs)
			}
		})
	}
}

// listen has connections to a port of this machine served, one after the other.
func listen(t *testing.T, serve func(i int, conn net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				serve(i, conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// TestQuery: of the processes that listen at an address, some may be stopped; the next one is asked. Where nobody listens, that is said.
func TestQuery(t *testing.T) {
	body := sample(t, "nccl-doc-07-json-missing-rank.json")
	want, err := ras.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	addr := listen(t, func(i int, conn net.Conn) {
		if i < 2 {
			io.Copy(io.Discard, conn) // it is stopped: the kernel alone takes what comes
			return
		}
		server(conn, body, true)
	})
	if got, err := ras.Query(t.Context(), addr, time.Second); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, %v", got, err)
	}
	mute := listen(t, func(_ int, conn net.Conn) { io.Copy(io.Discard, conn) })
	if _, err := ras.Query(t.Context(), mute, time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("all are stopped: %v", err)
	}
	for _, addr := range []string{"localhost:1", "no address", "[::1", "localhost:http:2"} {
		if _, err := ras.Query(t.Context(), addr, time.Second); err == nil || !strings.HasPrefix(err.Error(), "ask NCCL for its ranks: ") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// TestAsk_meets_others: what is no NCCL, or says too much or nothing, is an error and no wait.
func TestAsk_meets_others(t *testing.T) {
	for _, row := range []struct {
		name  string
		serve func(net.Conn)
		want  string
	}{
		{"closes", func(c net.Conn) { c.Close() }, "ask NCCL for its ranks"},
		{"another_program", func(c net.Conn) {
			bufio.NewReader(c).ReadString('\n')
			fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n")
			c.Close()
		}, `this is not NCCL: "HTTP/1.1 400 Bad Request"`},
		{"an_endless_line", func(c net.Conn) {
			bufio.NewReader(c).ReadString('\n')
			for c.SetWriteDeadline(time.Now().Add(time.Minute)) == nil {
				if _, err := c.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		}, ras.ErrTooLong.Error()},
		{"an_endless_report", func(c net.Conn) {
			server(&endless{Conn: c}, []byte(strings.Repeat("x", 1<<16)), true)
		}, ras.ErrTooLong.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := talk(t, time.Second, row.serve); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

// endless writes a long report again and again, until nobody reads it.
type endless struct{ net.Conn }

func (e *endless) Write(p []byte) (int, error) {
	if len(p) < 1<<16 {
		return e.Conn.Write(p)
	}
	for {
		if n, err := e.Conn.Write(p); err != nil {
			return n, err
		}
	}
}

// TestAsk_ends_with_its_context.
func TestAsk_ends_with_its_context(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("we are done")
	go func() {
		bufio.NewReader(there).ReadString('\n')
		cancel(why)
	}()
	if _, err := ras.Ask(ctx, here, time.Hour); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

// FuzzParse: no report, whatever it holds, is more than an error.
func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*nccl*")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data)
		}
	}
	f.Add(sample(f, "ras-2.28.9-missing-comma-INVALID.json"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ras.Parse(text)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
		if s := ras.Frozen(r, r); s.Known && !s.Frozen && len(r.Comms) == 0 {
			t.Errorf("the same report moves: %+v", r)
		}
	})
}
