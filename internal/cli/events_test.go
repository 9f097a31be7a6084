package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
)

const (
	firstEvent  = `{"time":"2026-01-02T03:04:05Z","kind":"launch","nodes":"n-1"}` + "\n"
	secondEvent = `{"time":"2026-01-02T03:04:06Z","kind":"ended","nodes":"n-1"}` + "\n"
)

func TestEventsShowsALastLineWithoutItsEnd(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"whole", firstEvent + secondEvent, firstEvent + secondEvent},
		{"end_missing", firstEvent + strings.TrimSuffix(secondEvent, "\n"), firstEvent + secondEvent},
		{"torn", firstEvent + secondEvent[:20], firstEvent},
		{"longer_than_a_buffer", firstEvent + strings.Repeat(" ", 10_000) + secondEvent, firstEvent + strings.Repeat(" ", 10_000) + secondEvent},
		{"nothing", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b strings.Builder
			v := eventsView{out: &b, json: true}
			if err := errors.Join(v.read(strings.NewReader(row.text)), v.end()); err != nil {
				t.Fatal(err)
			}
			if b.String() != row.want || v.broken != 0 {
				t.Errorf("got %q and %d broken lines, want %q", b.String(), v.broken, row.want)
			}
		})
	}
}

// TestEventsOfOthers: what somebody else did to nodes has its states, and whose the reason is.
func TestEventsOfOthers(t *testing.T) {
	for want, e := range map[string]controller.Event{
		"idle":                               {Reason: "idle"},
		"fan (alice): IDLE, then IDLE+DRAIN": {Reason: "fan", User: "alice", From: "IDLE", To: "IDLE+DRAIN"},
		"IDLE+DRAIN, then IDLE":              {From: "IDLE+DRAIN", To: "IDLE"},
	} {
		if got := withHands(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEventsRefusesALineWithoutEnd(t *testing.T) {
	v := eventsView{out: io.Discard}
	if err := v.read(strings.NewReader(strings.Repeat("x", 2*maxEvent))); err == nil {
		t.Error("a line of 8 MiB was read")
	}
}

func TestEventsFollowsUntilTheFileIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(firstEvent)
	shown, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		a := &app{out: out, err: io.Discard, output: "json"}
		done <- a.showEvents(t.Context(), path, eventsOptions{follow: true})
		out.Close()
	}()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(shown, got); err != nil || string(got) != want {
			t.Fatalf("got %q (%v), want %q", got, err, want)
		}
	}
	read(firstEvent)
	write(secondEvent[:20]) // the rest is not there yet
	write(secondEvent[20:])
	read(secondEvent)
	write(firstEvent)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	read(firstEvent)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestEventsFollowsARotation: the file is replaced while somebody follows it, and what
// was there before is shown, too.
func TestEventsFollowsARotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(controller.Earlier(path), firstEvent)
	put(path, secondEvent)
	shown, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- (&app{out: out, err: io.Discard, output: "json"}).showEvents(t.Context(), path, eventsOptions{follow: true})
		out.Close()
	}()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(shown, got); err != nil || string(got) != want {
			t.Fatalf("got %q (%v), want %q", got, err, want)
		}
	}
	read(firstEvent + secondEvent)
	put(path+".new", firstEvent)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	read(firstEvent)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(shown); err != nil || len(rest) > 0 {
		t.Errorf("then came %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEventsFollowsUntilItIsStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(firstEvent), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	var b strings.Builder
	err := (&app{out: &b, err: io.Discard}).showEvents(ctx, path, eventsOptions{follow: true})
	if !errors.Is(err, context.DeadlineExceeded) || strings.Count(b.String(), "launch") != 1 {
		t.Errorf("got %v and %q", err, b.String())
	}
}

func TestEventsShowsWhatToDoAndTheLog(t *testing.T) {
	event := `{"time":"2026-01-02T03:04:05Z","kind":"boot failed","nodes":"","instance":"i-1","reason":"mount","hint":"mend it","log":["a","b\u001b[0m"],"report":"/r/n.json"}` + "\n"
	var b strings.Builder
	v := eventsView{out: &b, headed: true}
	if err := v.read(strings.NewReader(event)); err != nil {
		t.Fatal(err)
	}
	gap := strings.Repeat(" ", 19+2+17+2+32+2)
	want := "  boot failed        i-1                               mount; mend it\n" + gap + "| a\n" + gap + "| b"
	if got := b.String()[len(time.DateTime):]; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\n"+gap[:21]+"its report: /r/n.json\n") || strings.Contains(got, "\x1b") {
		t.Errorf("got %q, want %q", got, want)
	}
}
