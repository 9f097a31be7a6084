package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/say/step"
)

// mirroring is a controller whose export goes on as time does.
type mirroring struct {
	began time.Time
	at    func(time.Duration) client.ExportStatus
	ends  time.Duration // of the last export; never if zero
	says  string        // what it ends with, "" if all is well
	dead  bool
}

func (m mirroring) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.dead {
		return nil, errors.New("connection refused")
	}
	if r.Method == http.MethodGet {
		body, err := json.Marshal([]client.ExportStatus{m.at(time.Since(m.began))})
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, err
	}
	var ends <-chan time.Time
	if m.ends != 0 {
		ends = time.After(m.ends)
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-ends:
	}
	code := http.StatusOK
	if m.says != "" {
		code = http.StatusInternalServerError
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(m.says))}, nil
}

// told keeps what is waited for.
type told struct{ step.Reporter }

func (told) Waiting(string, string, time.Duration) {}

func TestLastExport(t *testing.T) {
	status := func(pending int, bytes int64) client.ExportStatus {
		s := client.ExportStatus{Path: "/fsx1", Export: true, Pending: pending, PendingBytes: bytes}
		if pending > 0 {
			s.Waiting = []client.WaitingFile{{Path: "model.bin", SizeBytes: bytes, Reason: "new"}}
		}
		return s
	}
	for _, c := range []struct {
		name      string
		m         mirroring
		interrupt time.Duration // never if zero
		why       string        // "" if all is in the bucket
		limit     time.Duration
		size      int64 // of what is left; 0 if it does not matter
		unknown   bool  // what is left
		blocked   int   // of what is left
	}{
		{name: "nothing_waits", m: mirroring{ends: time.Second, at: func(time.Duration) client.ExportStatus { return status(0, 0) }}, limit: 2 * time.Second},
		{name: "slow_and_steady", m: mirroring{ends: time.Hour, at: func(since time.Duration) client.ExportStatus {
			if since >= time.Hour {
				return status(0, 0)
			}
			return status(1, int64(time.Hour-since))
		}}, limit: 61 * time.Minute},
		{name: "stands_still", m: mirroring{at: func(time.Duration) client.ExportStatus { return status(1, 7) }}, why: "nothing moved for 1", limit: time.Minute},
		{name: "reads_for_its_checksum", m: mirroring{ends: 10 * time.Minute, at: func(since time.Duration) client.ExportStatus {
			s := status(1, 7)
			s.Progress = int64(since)
			if since >= 10*time.Minute {
				return status(0, 0)
			}
			return s
		}}, limit: 11 * time.Minute},
		{name: "sends_and_fails_for_ever", m: mirroring{at: func(since time.Duration) client.ExportStatus {
			s := status(1, 100-int64(since/time.Second)%10)
			s.Progress, s.Error = int64(since), "no space left"
			return s
		}}, why: "nothing moved for 1", limit: time.Minute},
		{name: "joined_by_the_server", m: mirroring{ends: 10 * time.Minute, at: func(since time.Duration) client.ExportStatus {
			if since >= 10*time.Minute {
				return status(0, 0)
			}
			s := status(1, 0)
			s.Uploading = []client.Uploading{{SizeBytes: 20 << 30, SentBytes: 20 << 30}}
			return s
		}}, limit: 11 * time.Minute},
		{name: "nobody_waits", m: mirroring{at: func(since time.Duration) client.ExportStatus { return status(1, int64(time.Hour-since)) }},
			interrupt: time.Minute, why: "you did not wait", limit: 2 * time.Minute},
		{name: "half_a_file_is_none", m: mirroring{at: func(time.Duration) client.ExportStatus {
			s := status(1, 3)
			s.Uploading = []client.Uploading{{SizeBytes: 7, SentBytes: 4}}
			return s
		}}, why: "nothing moved", limit: time.Minute, size: 7},
		{name: "blocked", m: mirroring{ends: time.Second, says: "1 files cannot be exported", at: func(time.Duration) client.ExportStatus {
			s := status(1, 7)
			s.Waiting, s.Blocked, s.BlockedFiles = nil, 1, s.Waiting
			return s
		}},
			why: "1 files cannot be exported", limit: 2 * time.Second, blocked: 1},
		{name: "not_looked_at", m: mirroring{says: "list object * of bucket: not found", ends: time.Second, at: func(time.Duration) client.ExportStatus {
			s := status(0, 0)
			s.PendingUnknown, s.Error = true, "list object * of bucket: not found"
			return s
		}}, why: "not found", limit: 2 * time.Second, unknown: true},
		{name: "never_comes_to_its_end", m: mirroring{at: func(time.Duration) client.ExportStatus { return status(0, 0) }},
			why: "nothing moved for 1", limit: time.Minute, unknown: true},
		{name: "nobody_waits_and_nothing_waits", m: mirroring{at: func(time.Duration) client.ExportStatus { return status(0, 0) }},
			interrupt: time.Second, limit: 2 * time.Second},
		{name: "dead", m: mirroring{dead: true}, why: "connection refused", limit: time.Minute, unknown: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &nodes.Layout{Dir: t.TempDir()}
			file, err := os.ReadFile("../../examples/demo/cluster.yaml")
			if err := errors.Join(err, os.WriteFile(l.Path("cluster.yaml"), file, 0o600), os.MkdirAll(l.Path("shared", "fsx2"), 0o755),
				os.WriteFile(l.Path("shared", "fsx2", "weights"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				c.m.began = time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.interrupt != 0 {
					time.AfterFunc(c.interrupt, cancel)
				}
				_, left := (&lastExport{layout: l, control: client.Over(c.m), report: told{}}).run(ctx)
				if (left != nil) != (c.why != "") || left != nil && (!strings.Contains(left.Why, c.why) || left.Unknown != c.unknown) {
					t.Errorf("left is %+v, want %q", left, c.why)
				}
				if left != nil && !c.unknown && (left.Files != 1 || left.First[0].Path != "/fsx1/model.bin") {
					t.Errorf("left are %+v", left)
				}
				if left != nil && (left.Blocked != c.blocked || len(left.First) > 0 && left.First[0].Blocked != (c.blocked > 0)) {
					t.Errorf("blocked are %+v", left)
				}
				if c.size != 0 && left != nil && left.SizeBytes != c.size {
					t.Errorf("%d bytes are left, want %d", left.SizeBytes, c.size)
				}
				if took := time.Since(c.m.began); took > c.limit {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestDown_of_a_dead_cluster: nobody can say whether its files are in the buckets.
func TestDown_of_a_dead_cluster(t *testing.T) {
	for name, file := range map[string]string{"with_a_file": "shared/fsx2/weights", "with_one_that_is_not_exported": "shared/fsx1/data", "without": ""} {
		t.Run(name, func(t *testing.T) {
			r := Ref{Home: t.TempDir(), Name: "u"}
			l := r.Layout()
			text, err := os.ReadFile("../../examples/demo/cluster.yaml")
			must(t, err, makeDirectories(l, owners{}), os.WriteFile(l.Path("cluster.yaml"), text, 0o600), os.WriteFile(l.Path("cluster.json"), []byte("{}"), 0o600))
			if file != "" {
				must(t, os.MkdirAll(filepath.Dir(l.Path(file)), 0o755), os.WriteFile(l.Path(file), nil, 0o600))
			}
			done, err := Down(t.Context(), DownOptions{Ref: r, Report: silent{}})
			must(t, err)
			if got, want := done.NotExported != nil && done.NotExported.Unknown, name == "with_a_file"; got != want {
				t.Errorf("not in the buckets: %+v", done.NotExported)
			}
			if file != "" {
				_, err := os.Stat(l.Path(file))
				must(t, err)
			}
		})
	}
}
