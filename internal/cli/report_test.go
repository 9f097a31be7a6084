package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/step"
)

// TestWaiting_without_a_terminal has a line now and then, and none where nothing is
// to be said.
func TestWaiting_without_a_terminal(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		var out bytes.Buffer
		p := &progress{app: &app{err: &out, quiet: quiet}}
		for s := range 95 {
			p.Waiting("static nodes", "1 of 2", time.Duration(s)*time.Second)
		}
		p.Waiting("test job", "q", 10*time.Second)
		want := 3
		if quiet {
			want = 0
		}
		if got := strings.Count(out.String(), "static nodes: waiting for 1 of 2, "); got != want || strings.Contains(out.String(), "test job") {
			t.Errorf("quiet %v: %d lines:\n%s", quiet, got, &out)
		}
	}
}

// TestStepsAreLines holds that what a step says of names that others chose is one line
// that does nothing to a terminal.
func TestStepsAreLines(t *testing.T) {
	const evil = "/fsx1/pub/p\x1b[32m\nrow"
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{err: &out}
		p := &progress{app: a, terminal: terminal}
		p.Waiting("export what is left", evil, time.Hour)
		p.Note(evil)
		p.Done(step.Step{Name: "export what is left", Detail: "left behind: 1, " + evil})
		a.note("%s", evil)
		a.exit(t.Context(), errors.New("first "+evil))
		said := strings.ReplaceAll(out.String(), "\r\033[K", "")
		if strings.Contains(said, "\x1b") || !strings.Contains(said, `export what is left: left behind: 1, /fsx1/pub/p\x1b[32m\nrow`+"\n") {
			t.Errorf("terminal %v: %q", terminal, said)
		}
	}
}

// TestRepairIsForAShell gives damaged images names that a shell would not take for one.
func TestRepairIsForAShell(t *testing.T) {
	damaged := image.Verified{}
	damaged.Name, damaged.Verdict = "n\n\x1b[31m; reboot", image.Damaged
	var out bytes.Buffer
	a := &app{out: io.Discard, err: &out}
	for _, place := range []*imagePlace{{}, {OfSteps: true}} {
		if err := a.showVerified(place, verifyAnswer{Images: []image.Verified{damaged}}); err == nil {
			t.Error("a damaged image is no problem")
		}
	}
	want := "n\\n\\x1b[31m; reboot is damaged: `muster image import --force --name $'n\\n\\x1b[31m; reboot'` and where it came from make it again\n" +
		"n\\n\\x1b[31m; reboot is damaged: `muster image remove --of-steps $'n\\n\\x1b[31m; reboot'`, and the next step that wants it brings it again\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestProgress_makes_way erases the line of progress before anything else is written, and
// only if there is one.
func TestProgress_makes_way(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(*app, *progress)
		want string
	}{
		"an_error":          {func(a *app, p *progress) { p.Begin("x"); a.exit(t.Context(), errors.New("no")) }, "\r\033[K       … x\r\033[Kmuster: no\n"},
		"a_note":            {func(_ *app, p *progress) { p.Waiting("x", "y", 2*time.Second); p.Note("n") }, "\r\033[K    2 s … x: waiting for y\r\033[K           n\n"},
		"two_notes":         {func(_ *app, p *progress) { p.Begin("x"); p.Note("1"); p.Note("2") }, "\r\033[K       … x\r\033[K           1\n           2\n"},
		"no_progress_shown": {func(a *app, _ *progress) { a.exit(t.Context(), errors.New("no")) }, "muster: no\n"},
		"nothing_to_wait_for": {func(_ *app, p *progress) { p.Waiting("x", "", 2*time.Second); p.Done(step.Step{Name: "x"}) },
			"\r\033[K    2 s … x\r\033[K  0.00 s  x\n"},
	} {
		var out bytes.Buffer
		a := &app{err: &out}
		c.say(a, &progress{app: a, terminal: true})
		if out.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, &out, c.want)
		}
	}
}
