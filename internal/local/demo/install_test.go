package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// quiet is a reporter that says nothing.
type quiet struct{}

func (quiet) Begin(string)                          {}
func (quiet) Waiting(string, string, time.Duration) {}
func (quiet) Note(string)                           {}
func (quiet) Done(step.Step)                        {}

// installing is a demo in a folder of its own, with a script in place of mmdebstrap. The
// script is called with the tar file to make as $tar.
func installing(t *testing.T, script string) *demo {
	t.Helper()
	bin := t.TempDir()
	head := "#!/bin/sh\nset -e\nwhile [ \"$1\" != " + suite + " ]; do shift; done\ntar=$2\n"
	if err := os.WriteFile(filepath.Join(bin, "mmdebstrap"), []byte(head+script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte("#!/bin/sh\n"), 0o700); err != nil { // none of this machine's mirrors
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return &demo{Options: Options{Dir: t.TempDir()}, tell: &narrator{to: quiet{}}}
}

func TestInstallation(t *testing.T) {
	cases := map[string]struct{ script, detail, problem string }{
		"well":       {`head -c 3000000 /dev/zero >"$tar"`, "3 MB of Debian bookworm with python3-torch, in ", ""},
		"fails":      {"echo 'E: no such mirror' >&2; exit 25", "", "mmdebstrap: exit status 25\nE: no such mirror"},
		"leaves_out": {"exit 0", "", "root.tar: no such file or directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := installing(t, c.script)
			if _, err := d.beginInstall(t.Context()); err != nil {
				t.Fatal(err)
			}
			detail, err := d.awaitInstall(t.Context())
			if !strings.HasPrefix(detail, c.detail) || (err == nil) != (c.problem == "") || err != nil && !strings.HasSuffix(err.Error(), c.problem) {
				t.Errorf("got %q, %v", detail, err)
			}
			d.install.stop() // which has nothing to do
		})
	}
	new(installation).stop() // nor has this
}

// running tells whether a process has not ended.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestInstallation_is_stopped stops one that has work left, in both ways, and wants it to
// have removed its folder before stop returns.
func TestInstallation_is_stopped(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		d := installing(t, `mkdir "$tar.folder"; trap 'rmdir "$tar.folder"; exit 143' TERM
sleep 600 2>/dev/null & echo $! >"$tar.deaf"; echo begun >&2; wait`)
		ctx, cancel := context.WithCancelCause(t.Context())
		if _, err := d.beginInstall(ctx); err != nil {
			t.Fatal(err)
		}
		for d.install.said.Last(1) != "begun" {
			select {
			case <-d.install.ended:
				t.Fatalf("it ended: %v", d.install.err)
			case <-time.After(time.Millisecond):
			}
		}
		stopped := errors.New("Ctrl-C")
		if interrupted {
			cancel(stopped)
			if _, err := d.awaitInstall(ctx); !errors.Is(err, stopped) {
				t.Errorf("the wait for it ended with %v", err)
			}
		}
		d.install.stop()
		if _, err := os.Stat(d.rootTar() + ".folder"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("interrupted %v: its folder is left: %v", interrupted, err)
		}
		cancel(nil)
		deaf, err := os.ReadFile(d.rootTar() + ".deaf") // a shell's background process ignores interrupts
		if err != nil {
			t.Fatal(err)
		}
		limited, end := context.WithTimeout(t.Context(), time.Minute)
		for running(strings.TrimSpace(string(deaf))) {
			if err := pause.For(limited, time.Millisecond); err != nil {
				t.Fatal("a process of it is left")
			}
		}
		end()
	}
}
