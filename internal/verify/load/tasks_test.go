package load_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify/load"
)

func TestTasks_hear_the_same_and_know_which_they_are(t *testing.T) {
	var out bytes.Buffer
	tasks := load.Tasks{Node: "n1", Count: 3, Env: os.Environ(), In: strings.NewReader("go\n"), Out: &out,
		Line: []string{"/bin/sh", "-c", `read -r word; echo "$SLURMD_NODENAME $SLURM_PROCID $SLURM_LOCALID of $SLURM_NTASKS heard $word"; read -r more || printf 'the end'`}}
	if err := tasks.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	want := []string{"n1 0 0 of 3 heard go", "n1 1 1 of 3 heard go", "n1 2 2 of 3 heard go", "the end", "the end", "the end"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestTasks_keep_lines_whole(t *testing.T) {
	var out bytes.Buffer
	tasks := load.Tasks{Node: "n1", Count: 4, Env: os.Environ(), Out: &out,
		Line: []string{"/bin/sh", "-c", `i=0; while [ $i -lt 200 ]; do printf '%s' "$SLURM_PROCID"; printf '%s%s%s\n' "$SLURM_PROCID" "$SLURM_PROCID" "$SLURM_PROCID"; i=$((i+1)); done`}}
	if err := tasks.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out.String()) {
		seen[strings.TrimSpace(line)]++
	}
	for _, want := range []string{"0000", "1111", "2222", "3333"} {
		if seen[want] != 200 || len(seen) != 4 {
			t.Fatalf("got %v", seen)
		}
	}
}

// TestTasks_end_with_their_context, and with them all that they have started.
func TestTasks_end_with_their_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the time is over")
	r, w := io.Pipe()
	defer r.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- load.Tasks{Node: "n1", Count: 2, Env: os.Environ(), Out: w, Line: []string{"/bin/sh", "-c", "sleep infinity & echo ready; wait"}}.Run(ctx)
	}()
	buf := make([]byte, len("ready\nready\n"))
	if _, err := io.ReadFull(r, buf); err != nil {
		t.Fatal(err)
	}
	cancel(over)
	select {
	case err := <-ended:
		if !errors.Is(err, over) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("they go on")
	}
}

func TestTasks_say_that_one_failed(t *testing.T) {
	err := load.Tasks{Node: "n1", Count: 2, Env: os.Environ(), Line: []string{"/bin/sh", "-c", `exit "$SLURM_PROCID"`}}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []load.Tasks{{Count: 0, Line: []string{"true"}}, {Count: 1 << 20, Line: []string{"true"}}, {Count: 1}, {Count: 1, Line: []string{"/no/such/program"}}} {
		if bad.Run(t.Context()) == nil {
			t.Errorf("%v ran", bad)
		}
	}
}

// TestTasks_tell of one that was killed, in a line, and of none that left something behind.
func TestTasks_tell(t *testing.T) {
	var out bytes.Buffer
	tasks := load.Tasks{Node: "n1", Count: 3, Env: os.Environ(), Out: &out,
		Line:   []string{"/bin/sh", "-c", `case $SLURM_PROCID in 1) kill -9 $$;; 2) setsid sleep 20 & esac; echo "$SLURM_PROCID"`},
		Failed: func(task int, err error) string { return load.BrokenRank("n1", task, err) }}
	err := tasks.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "task 1: signal: killed") || strings.Contains(err.Error(), "task 2") {
		t.Errorf("ended with %v", err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	if want := []string{"0", "2", `{"kind":"broken","node":"n1","rank":1,"why":"it ended: signal: killed"}`}; !slices.Equal(got, want) {
		t.Errorf("wrote %q", got)
	}
}
