package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

func TestWatchReaders_hears_of_a_reader_that_goes(t *testing.T) {
	here, there, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watchReaders(ctx, cancel, int(file.Fd()), int(there.Fd()))
	}()
	if ctx.Err() != nil {
		t.Error("a reader that is there counts as gone")
	}
	here.Close()
	<-ctx.Done()
	<-ended
	if t.Context().Err() != nil {
		t.Error("nobody noticed that the reader had gone")
	}
}

func TestEndOf(t *testing.T) {
	for script, want := range map[string]int{"exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143} {
		var code fault.PassedOn
		if err := tie.Ended(exec.Command("/bin/sh", "-c", script).Run()); !errors.As(err, &code) || int(code) != want {
			t.Errorf("%s: got %v, want %d", script, err, want)
		}
	}
	if err := tie.Ended(nil); err != nil {
		t.Error(err)
	}
}

func TestFlagsBefore(t *testing.T) {
	for _, try := range []struct{ line, args, want []string }{
		{[]string{"run", "a.sh", "--", "x"}, []string{"a.sh", "--", "x"}, []string{"run"}},
		{[]string{"job", "submit", "--force", "--", "a.sh"}, []string{"a.sh"}, []string{"job", "submit", "--force"}},
	} {
		got := flagsBefore(try.line, try.args)
		if len(got) != len(try.want) || got[len(got)-1] != try.want[len(try.want)-1] {
			t.Errorf("%q: got %q, want %q", try.line, got, try.want)
		}
	}
}
