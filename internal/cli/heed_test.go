package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestStoppedWhileItReads gives commands a pipe that nobody writes to: opening it takes
// as long as nobody does, which no signal ends that goes into a context.
func TestStoppedWhileItReads(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MUSTER_HOME", filepath.Join(dir, "home"))
	pipe, good := filepath.Join(dir, "pipe.yaml"), filepath.Join(dir, "good.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/demo/cluster.yaml")
	if err == nil {
		err = os.WriteFile(good, example, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, line := range []string{
		"plan " + pipe, "plan " + good + " --models " + pipe,
		"check " + pipe, "check " + good + " " + pipe, "check --cluster " + pipe + " " + good,
		"up " + pipe, "up " + good + " --workload " + pipe,
		"up --on aws " + pipe,
		"image import --authfile " + pipe + " --dir " + dir + " localhost:1/x",
	} {
		var said bytes.Buffer
		a := &app{in: strings.NewReader(""), out: io.Discard, err: &said}
		root := a.root()
		root.SetArgs(strings.Fields(line))
		if code := a.exit(ctx, root.ExecuteContext(ctx)); code != fault.ExitInterrupted || said.String() != "muster: stopped\n" {
			t.Errorf("muster %s: exit code %d, stderr %q", line, code, said.String())
		}
		said.Reset()
		root.SetArgs(append(strings.Fields(line), "-o", "json"))
		if code := a.exit(ctx, root.ExecuteContext(ctx)); code != fault.ExitInterrupted || said.String() != `{"error":"stopped","code":"stopped","exit":130}`+"\n" {
			t.Errorf("muster %s -o json: exit code %d, stderr %q", line, code, said.String())
		}
	}
}

// TestWorkloadOutOfAPipe holds that a workload file is read once: a pipe's text is gone then.
func TestWorkloadOutOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const text = "Run: {Days: 14}\n"
	_, err = w.WriteString(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	workload, source, problems := place.ReadWorkload(fmt.Sprintf("/dev/fd/%d", r.Fd()), &spec.Cluster{})
	if problems.HasErrors() || workload == nil || string(source) != text {
		t.Errorf("got %+v, %q, %v", workload, source, problems.All())
	}
}
