package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestBoard_tells_only_news(t *testing.T) {
	b, now := newBootStatus("v1", ""), time.Unix(1000, 0)
	put := func(at time.Time) bool {
		_, bare, ok := b.news(at, "i-1")
		if ok {
			b.put(bare, at)
		}
		return ok
	}
	b.begin("one")
	if !put(now) || put(now.Add(time.Second)) {
		t.Error("a status is put once, and not again while it is young and nothing changes")
	}
	if !put(now.Add(quiet)) {
		t.Error("an old status is put again, so that readers see that somebody lives")
	}
	b.done("one", "found it", 2*time.Second)
	if !put(now.Add(quiet + time.Second)) {
		t.Error("a step that is done is news")
	}
	b.begin("one")
	if got := b.status.Steps; len(got) != 1 || got[0].Done {
		t.Errorf("a step that begins again: %+v", got)
	}
	b.fail(errors.New("no disk"), []string{"a"})
	if b.phase() != manifest.Failed || b.status.Error != "no disk" {
		t.Errorf("after a failure: %+v", b.status)
	}
	b.ready("r2")
	if b.status.Error != "" || b.status.LogTail != nil || b.status.Revision != "r2" {
		t.Errorf("a ready head node remembers its failure: %+v", b.status)
	}
}

// TestBoard_says_for_which_revision a step was done.
func TestBoard_says_for_which_revision(t *testing.T) {
	b := newBootStatus("v1", "")
	run := func(revision string, names ...string) {
		b.anew()
		for i, name := range names {
			b.begin(name)
			if i == 1 {
				b.read(revision)
			}
			b.done(name, "", time.Second)
		}
	}
	run("r1", "identify", "read", "mount", "serve")
	run("r2", "identify", "read", "mount")
	got := map[string]string{}
	for _, s := range b.status.Steps {
		got[s.Name] = s.Revision
	}
	if diff := cmp.Diff(map[string]string{"identify": "r2", "read": "r2", "mount": "r2", "serve": "r1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// logsFake takes what is sent, unless it is told to refuse.
type logsFake struct {
	streams []string
	lines   []string
	err     error
}

func (f *logsFake) CreateLogStream(_ context.Context, in *cloudwatchlogs.CreateLogStreamInput, _ ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.CreateLogStreamOutput, error) {
	f.streams = append(f.streams, *in.LogStreamName)
	return nil, f.err
}

func (f *logsFake) PutLogEvents(_ context.Context, in *cloudwatchlogs.PutLogEventsInput, _ ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.PutLogEventsOutput, error) {
	for _, e := range in.LogEvents {
		f.lines = append(f.lines, *e.Message)
	}
	return nil, f.err
}

func TestShipper(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slurmd.log")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &logsFake{}
	s := &shipper{client: f, group: "g", prefix: "ip-10-0-0-5.i-1.", log: slog.New(slog.DiscardHandler)}
	s.add(path)
	round := func(want ...string) {
		t.Helper()
		f.lines = nil
		if err := s.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.lines, want) {
			t.Errorf("sent %q, want %q", f.lines, want)
		}
	}
	round() // the file is not there yet
	write("one\n\ntwo\nthr")
	round("one", "two")
	write("one\n\ntwo\nthree\n")
	round("three")
	round()
	write("new\n") // copytruncate
	round("new")
	if !slices.Equal(f.streams, []string{"ip-10-0-0-5.i-1.slurmd"}) {
		t.Errorf("streams %q", f.streams)
	}
	f.err = errors.New("AccessDenied")
	write("new\nkept\n")
	if err := s.round(t.Context()); err == nil {
		t.Error("a refusal is no error")
	}
	f.err = nil
	round("kept")
	long := strings.Repeat("x", batchBytes+10)
	write("new\nkept\n" + long + "\n")
	round(long[:batchBytes], long[batchBytes:])
}

func TestMemoryUsed(t *testing.T) {
	got, err := memoryUsed("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    250 kB\n")
	if err != nil || got != 75 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := memoryUsed("nothing"); err == nil {
		t.Error("nothing was read, and no error")
	}
}

func TestCluster_reads_what_machines_need(t *testing.T) {
	c := &cluster{file: &spec.Cluster{Timeouts: spec.Timeouts{HeadNode: time.Hour, ComputeNode: time.Minute}}}
	c.site.Storage = []manifest.Storage{{Type: "Ebs", MountDir: "/raid"}, {Type: "Efs", MountDir: "/e"}}
	if got := c.exports(); !slices.Equal(got, []string{"/home", "/raid"}) {
		t.Errorf("exports %q", got)
	}
	c.site.Storage[1].MountDir = "/home"
	if got := c.exports(); !slices.Equal(got, []string{"/raid"}) {
		t.Errorf("with homes elsewhere, exports %q", got)
	}
	if got := c.limit(manifest.Ticket{Role: manifest.RoleHead}); got != time.Hour {
		t.Errorf("a head node may take %s", got)
	}
	if got := c.limit(manifest.Ticket{Role: manifest.RoleLogin}); got != time.Minute {
		t.Errorf("a login node may take %s", got)
	}
}

func TestCluster_finds_a_machine_scripts(t *testing.T) {
	actions := func(url string) spec.CustomActions { return spec.CustomActions{spec.OnNodeStart: {{URL: url}}} }
	c := &cluster{file: &spec.Cluster{
		HeadNode:   spec.HeadNode{CustomActions: actions("head")},
		Scheduling: spec.Scheduling{Queues: []spec.Queue{{Name: "people"}, {Name: "gpu", CustomActions: actions("queue")}}},
		LoginPools: []spec.LoginPool{{Name: "gpu"}, {Name: "people", CustomActions: actions("pool")}},
	}}
	for _, row := range []struct{ role, queue, want string }{
		{manifest.RoleHead, "", "head"}, {manifest.RoleCompute, "gpu", "queue"}, {manifest.RoleLogin, "people", "pool"},
	} {
		got, err := c.actions(manifest.Ticket{Role: row.role, Queue: row.queue})
		if err != nil || got[spec.OnNodeStart][0].URL != row.want {
			t.Errorf("%s: %v, %v", row.want, got, err)
		}
	}
	for _, role := range []string{manifest.RoleCompute, manifest.RoleLogin} {
		if _, err := c.actions(manifest.Ticket{Role: role, Queue: "gone"}); err == nil {
			t.Errorf("%s: what is gone has scripts", role)
		}
	}
}

func TestBlindOf(t *testing.T) {
	for detail, want := range map[string]string{
		"8 GPUs; fabric joined; CUDA starts on 8 GPUs; checks before jobs: not asked for":              "",
		"blind: no nvidia-smi; 32 EFA devices; blind: no fi_info; checks before jobs: blind: no dcgmi": "no nvidia-smi; no fi_info; no dcgmi",
	} {
		if got := blindOf(detail); got != want {
			t.Errorf("%q: got %q, want %q", detail, got, want)
		}
	}
}
