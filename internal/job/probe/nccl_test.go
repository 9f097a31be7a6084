package probe_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/muster-hpc/muster/internal/job/probe"
)

// serve answers as NCCL does, with a report that it gave once.
func serve(t *testing.T, report func() string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				switch upper := strings.ToUpper(lines.Text()); {
				case strings.HasPrefix(upper, "CLIENT PROTOCOL"):
					fmt.Fprint(conn, "SERVER PROTOCOL 2\n")
					continue
				case upper != "VERBOSE STATUS":
					fmt.Fprint(conn, "OK\n")
					continue
				}
				fmt.Fprint(conn, report())
				break
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// NCCL is asked where the ranks' environment says that it listens, and believed if it speaks of them.
func TestLook_asksNCCL(t *testing.T) {
	text, err := os.ReadFile("../ras/testdata/nccl-doc-07-json-missing-rank.json")
	if err != nil {
		t.Fatal(err)
	}
	// ask begins a rank of a job with these variables, and returns what the probe hears of it.
	var rank atomic.Int64
	ask := func(job int, environment string) []probe.Answer {
		cmd := exec.Command("sleep", "100")
		cmd.Env = []string{"SLURM_JOB_ID=" + strconv.Itoa(job), "RANK=0", "PATH=/usr/bin:/bin", environment}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		rank.Store(int64(cmd.Process.Pid))
		r, err := probe.Look(t.Context(), "/proc", job)
		if err != nil || len(r.Processes) != 1 || r.Processes[0].Part != probe.Leader {
			t.Fatalf("got %+v, %v", r, err)
		}
		return r.NCCL
	}
	theirs := serve(t, func() string { return string(text) })
	ours := serve(t, func() string { return strings.ReplaceAll(string(text), "1524344", strconv.FormatInt(rank.Load(), 10)) })
	got := ask(990001, "NCCL_RAS_ADDR="+ours)
	if len(got) != 1 || got[0].Report == nil || len(got[0].Report.Silent) != 1 || got[0].Report.Silent[0].Rank != 1 {
		t.Errorf("ours: %+v", got)
	}
	for environment, want := range map[string]string{
		"NCCL_RAS_ADDR=" + theirs:   "what answers there is not of this job",
		"NCCL_RAS_ADDR=localhost:1": "connection refused",
		"NCCL_RAS_ENABLE=0":         "NCCL_RAS_ENABLE=0",
	} {
		if got := ask(990002, environment); len(got) != 1 || got[0].Report != nil || !strings.Contains(got[0].Blind, want) {
			t.Errorf("%s: %+v", environment, got)
		}
	}
	t.Setenv("SLURM_PROCID", "3")
	if got := ask(990003, "NCCL_RAS_ADDR="+ours); got != nil {
		t.Errorf("all nodes ask: %+v", got)
	}
}
