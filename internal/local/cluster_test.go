package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestRef_lock_is_of_one(t *testing.T) {
	r := Ref{Home: filepath.Join(t.TempDir(), "new"), Name: "train"}
	unlock, err := r.lock()
	if err != nil {
		t.Fatal(err)
	}
	want := "cluster train is being changed by another muster; wait for it to end"
	if _, err := r.lock(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	other, err := Ref{Home: r.Home, Name: "other"}.lock()
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	again, err := r.lock()
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestFile_write(t *testing.T) {
	l := &nodes.Layout{Dir: t.TempDir()}
	for _, row := range []struct {
		name, before  string // "" is no file
		file          file
		want          string
		changed, same bool // the same file, not another in its place
	}{
		{name: "new", file: file{text: "b"}, want: "b", changed: true},
		{name: "changed", before: "a", file: file{text: "b"}, want: "b", changed: true},
		{name: "equal", before: "b", file: file{text: "b"}, want: "b", same: true},
		{name: "secret_stays", before: "a", file: file{text: "b", once: true}, want: "a", same: true},
		{name: "secret_is_made", file: file{text: "b", once: true}, want: "b", changed: true},
		{name: "mounted_stays_the_same_file", before: "a", file: file{text: "b", inPlace: true}, want: "b", changed: true, same: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.file.path, row.file.mode = row.name, 0o640
			path := l.Path(row.name)
			if row.before != "" {
				if err := os.WriteFile(path, []byte(row.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.Stat(path)
			changed, err := row.file.write(l)
			if err != nil || changed != row.changed {
				t.Errorf("changed is %t, %v, want %t", changed, err, row.changed)
			}
			after, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(path); string(text) != row.want || after.Mode() != 0o640 {
				t.Errorf("it has %q with mode %s, want %q with 0640", text, after.Mode(), row.want)
			}
			if same := before != nil && os.SameFile(before, after); same != row.same {
				t.Errorf("it is the same file: %t, want %t", same, row.same)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	files := []string{"cluster.json", "log/nodes/a.log", "state/mysql/x", "s3/bucket/object", "shared/fsx1/data", "etc/munge/munge.key"}
	for _, row := range []struct {
		name       string
		deleteData bool
		without    string // files that are not there
		want       []string
	}{
		{"all", true, "none", nil},
		{"keeps_data", false, "none", []string{"s3/bucket/object", "shared/fsx1/data"}},
		{"keeps_what_there_is", false, "s3/", []string{"shared/fsx1/data"}},
		{"no_data_to_keep", false, "s", nil},
		{"cut_off_after_the_record", false, "cluster.json", []string{"s3/bucket/object", "shared/fsx1/data"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := &nodes.Layout{Dir: filepath.Join(t.TempDir(), "run")}
			for _, f := range files {
				write(t, l.Path(f), strings.HasPrefix(f, row.without))
			}
			for range 2 { // it may be repeated
				if _, err := remove(l, row.deleteData); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(row.want, left(t, l.Dir)); diff != "" {
					t.Errorf("left: want -, got +:\n%s", diff)
				}
			}
			if _, err := os.Stat(l.Dir); (err == nil) != (row.want != nil) {
				t.Errorf("the run directory: %v", err)
			}
		})
	}
}

// write makes a file, or its folder only.
func write(t *testing.T, path string, folderOnly bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if folderOnly {
		return
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// left are the files below a folder.
func left(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestUp_hostPath(t *testing.T) {
	u := &up{layout: &nodes.Layout{Dir: "/run/train"}}
	u.File = &spec.Cluster{SharedStorage: []spec.SharedStorage{{MountDir: "/fsx1"}, {MountDir: "/data/fsx2"}}}
	for path, want := range map[string]string{
		"/fsx1": "/run/train/shared/fsx1", "/fsx1/a/b": "/run/train/shared/fsx1/a/b",
		"/data/fsx2/a": "/run/train/shared/data-fsx2/a", "/fsx10/a": "", "/data": "", "/": "",
	} {
		top, rest, ok := u.hostPath(path)
		if got := filepath.Join(top, rest); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t, want %q", path, got, ok, want)
		}
	}
}

func TestUnready(t *testing.T) {
	got := unready([]supervise.Status{
		{Name: "munged", Phase: supervise.Ready}, {Name: "mariadb", Phase: supervise.Starting}, {Name: "slurmctld", Phase: supervise.Waiting},
	})
	if diff := cmp.Diff([]string{"mariadb", "slurmctld"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHanging(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 30, 0, time.UTC)
	status := []supervise.Status{{Name: "munged", Phase: supervise.Ready, Since: now.Add(-time.Hour)}, {Name: "slurmctld", Phase: supervise.Hanging, Since: now.Add(-9 * time.Second)}}
	if err := hanging(status, now); err != nil {
		t.Errorf("after nine seconds: %v", err)
	}
	want := "slurmctld hangs since 12:00:21: its process was stopped by a signal and does not answer until it gets SIGCONT"
	if err := hanging(status, now.Add(time.Second)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestUsersOf(t *testing.T) {
	gone := func(node string) bool { return node == "n5" || node == "n6" }
	for _, row := range []struct {
		jobs   []slurm.Queued
		want   string // want is empty for nobody
		ending bool
	}{
		{nil, "", false},
		{[]slurm.Queued{{ID: 1, State: "RUNNING", NodeList: "n[1-4]"}}, "", false},
		{[]slurm.Queued{{ID: 1, State: "PENDING"}}, "", false},
		{
			[]slurm.Queued{{ID: 1, State: "RUNNING", NodeList: "n[4-6]"}},
			"the file no longer has node n5, but job 1 runs on it: wait for it, or `muster job cancel 1`", false,
		},
		{
			[]slurm.Queued{{ID: 2, State: "COMPLETING", NodeList: "n[1,6]"}},
			"the file no longer has node n6, but job 2 runs on it: wait for it, or `muster job cancel 2`", true,
		},
		{
			[]slurm.Queued{
				{ID: 2, State: "COMPLETING", NodeList: "n6"}, {ID: 3, State: "CONFIGURING", NodeList: "n5"},
				{ID: 4, State: "RUNNING", NodeList: "n6"}, {ID: 5, State: "RUNNING", NodeList: "n1"},
			},
			"the file no longer has nodes that jobs run on (job 3 on n5, job 4 on n6): wait for them, or `muster job cancel 3 4`", false,
		},
	} {
		users, err := usersOf(row.jobs, gone)
		got := ""
		if len(users) > 0 {
			got = inUse(users).Error()
		}
		if err != nil || got != row.want || len(users) > 0 && users[0].ending != row.ending {
			t.Errorf("%+v: %+v, %v, want %q", row.jobs, users, err, row.want)
		}
	}
	if _, err := usersOf([]slurm.Queued{{ID: 1, State: "RUNNING", NodeList: "n[1-"}}, gone); err == nil {
		t.Error("a list of nodes that is none is taken")
	}
}

func TestNotHere(t *testing.T) {
	large, problems := spec.Load("../../examples/guide-80/cluster.yaml")
	if large == nil {
		t.Fatal(problems.Err())
	}
	small := &spec.Cluster{Scheduling: spec.Scheduling{Queues: []spec.Queue{{ComputeResources: []spec.ComputeResource{{InstanceTypes: []string{"c6i.large"}, MaxCount: 4}}}}}}
	for want, c := range map[string]*spec.Cluster{
		"640 GPUs (Slurm counts them), EFA (/dev/infiniband is empty), custom actions (not run), the sizes of file systems (df shows this machine's disk), the internet from nodes": large,
		"the internet from nodes": small,
	} {
		if got := notHere(c, s3Region(c), true); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	const want = "the region us-east-1 (S3 stays in us-west-2 until `muster down` and `muster up`), the internet from nodes"
	if got := notHere(small, "us-west-2", true); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
