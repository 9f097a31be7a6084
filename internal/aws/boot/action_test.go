package boot

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/spec"
)

// code is how a program ends that says so by its exit code.
func code(n int) error {
	err := exec.Command("/bin/sh", "-c", "exit "+string(rune('0'+n))).Run()
	return err
}

func scripts(t *testing.T, texts map[string]string) Scripts {
	t.Helper()
	return Scripts{
		Machine: Machine{Root: t.TempDir()}, Limit: time.Minute, Env: []string{"MUSTER_CLUSTER=train"},
		Fetch: func(_ context.Context, bucket, key string) (io.ReadCloser, error) {
			text, ok := texts[bucket+"/"+key]
			if !ok {
				return nil, errors.New("no such object")
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
	}
}

func TestScripts(t *testing.T) {
	for name, row := range map[string]struct {
		script string
		args   []string
		log    string
		err    string
	}{
		"ends_well":    {"#!/bin/sh\necho \"$MUSTER_CLUSTER: $1\"\n", []string{"two words; $(id)"}, "train: two words; $(id)\n", ""},
		"fails":        {"#!/bin/sh\necho first\necho no such disk >&2\nexit 7\n", nil, "first\nno such disk\n", "run s3://b/s: exit status 7; it printed last: first | no such disk"},
		"says_nothing": {"#!/bin/sh\nexit 1\n", nil, "", "run s3://b/s: exit status 1; it printed nothing"},
		"no_script":    {"echo hello\n", nil, "", "it has no #! line"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripts(t, map[string]string{"b/s": row.script})
			_, err := s.Run(t.Context(), spec.OnNodeStart, []spec.Script{{URL: "s3://b/s", Args: row.args}})
			if got := text(err); !strings.Contains(got, row.err) || row.err == "" && got != "" {
				t.Errorf("got %q, want %q", got, row.err)
			}
			log, _ := s.Read(actionDir + "/OnNodeStart-1.log")
			if log != row.log {
				t.Errorf("it printed %q, want %q", log, row.log)
			}
		})
	}
}

func TestScripts_stop_at_the_first_that_fails(t *testing.T) {
	s := scripts(t, map[string]string{"b/bad": "#!/bin/sh\nexit 1\n", "b/good": "#!/bin/sh\necho ran\n"})
	_, err := s.Run(t.Context(), spec.OnNodeConfigured, []spec.Script{{URL: "s3://b/bad"}, {URL: "s3://b/good"}})
	if err == nil {
		t.Error("no error")
	}
	if log, _ := s.Read(actionDir + "/OnNodeConfigured-2.log"); log != "" {
		t.Errorf("the second ran: %q", log)
	}
}

func TestScripts_have_a_limit(t *testing.T) {
	s := scripts(t, map[string]string{"b/s": "#!/bin/sh\necho began\nsleep 600 &\nwait\n"})
	began := time.Now()
	for s.Limit = 300 * time.Millisecond; ; s.Limit *= 4 { // a slow machine takes long to start a script
		_, err := s.Run(t.Context(), spec.OnNodeStart, []spec.Script{{URL: "s3://b/s"}})
		got := text(err)
		if strings.Contains(got, "took longer than "+s.Limit.String()) && strings.Contains(got, "began") {
			break
		}
		if s.Limit > time.Minute {
			t.Fatalf("got %q", got)
		}
	}
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("it took %s to end a script and its children", took)
	}
}

func TestScripts_fetch(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if asked == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "#!/bin/sh\n")
	}))
	defer server.Close()
	s := scripts(t, nil)
	s.HTTP = server.Client()
	path := s.path("/script")
	if err := s.fetch(t.Context(), server.URL+"/a", path); err != nil || asked != 2 {
		t.Errorf("got %v after %d attempts, want the second to succeed", err, asked)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o700 {
		t.Errorf("the script is %v, %v", info, err)
	}
	if _, err := s.open(t.Context(), "http://example.com/x"); text(err) != "it is neither s3:// nor https://" {
		t.Errorf("got %v", err)
	}
}
