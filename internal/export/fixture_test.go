package export_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
)

// files are what a training job leaves: by path, with content; "-> x" is a link to x.
type files map[string]string

var job = files{
	"run/checkpoint-1/model.bin":                "weights 1",
	"run/checkpoint-1/sub/optim.bin":            "moments 1",
	"run/checkpoint-2/model.bin":                "weights 2",
	"run/checkpoint-2/empty":                    "",
	"run/.tmp-checkpoint-3/model.bin":           "half of the wei",
	"run/latest":                                "checkpoint-2\n",
	"run/train.log":                             "Batch 1 Loss: 3\n",
	"meg/iter_0000010/model.pt":                 "megatron",
	"meg/latest_checkpointed_iteration.txt":     "10",
	"link/step-5/x":                             "x",
	"link/latest":                               "-> step-5",
	"link/other":                                "-> step-5/x",
	"results with space/ö.json":                 "{}",
	"results with space/download.part":          "part",
	"results with space/upload.tmp/in progress": "part",
}

// lasting is what of them is to be exported.
func lasting(all files) files {
	keep := files{}
	for p, text := range all {
		if !strings.Contains(p, ".tmp") && !strings.Contains(p, ".part") {
			keep["fsx1/"+p] = strings.TrimPrefix(text, "-> ")
		}
	}
	return keep
}

// write makes files that are an hour old.
func write(t *testing.T, dir string, all files) {
	t.Helper()
	for p, text := range all {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(full, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// bucket reads all objects back.
func bucket(t *testing.T, s store.Store) files {
	t.Helper()
	all := files{}
	for o, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := s.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		all[o.Key] = string(text)
	}
	return all
}

func mirror(dir string, s store.Store) *export.Mirror {
	rule := export.Rule{Dir: dir, Mount: "/fsx3", Bucket: "b", Prefix: "/fsx1/", New: true, Changed: true, Deleted: true}
	return &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: s}
}

// soon is when what was just written is finished.
func soon() time.Time { return time.Now().Add(time.Minute) }

// finish runs rounds, an hour later each, until nothing is pending.
func finish(t *testing.T, m *export.Mirror) {
	t.Helper()
	for n := range 5 {
		result, err := m.Round(t.Context(), soon().Add(time.Duration(n)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if result.Pending == 0 {
			return
		}
	}
	t.Fatal("five rounds did not finish")
}

func wantMirrored(t *testing.T, dir string, s store.Store, all files) {
	t.Helper()
	if diff := cmp.Diff(lasting(all), bucket(t, s)); diff != "" {
		t.Errorf("the bucket differs (-want +got):\n%s", diff)
	}
	report, err := export.Verify(t.Context(), export.Rule{Dir: dir, Mount: "/fsx3", Prefix: "fsx1"}, s)
	if err != nil || !report.OK() || report.Matched != len(lasting(all)) {
		t.Errorf("verify says %+v, %v", report, err)
	}
}

// cut is a store whose process is killed after some puts and deletes. The last one is done or not, without an answer.
type cut struct {
	store.Store
	left atomic.Int32
	late bool
	kill context.CancelFunc
}

var errCut = errors.New("killed")

func (c *cut) allow() bool {
	if c.left.Add(-1) >= 0 {
		return true
	}
	c.kill()
	return false
}

func (c *cut) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if c.allow() {
		return c.Store.Put(ctx, u)
	}
	if c.late && c.left.Load() == -1 {
		_, err := c.Store.Put(context.WithoutCancel(ctx), u)
		return store.Object{}, errors.Join(errCut, err)
	}
	return store.Object{}, errCut
}

func (c *cut) Delete(ctx context.Context, key string) error {
	if c.allow() {
		return c.Store.Delete(ctx, key)
	}
	return errCut
}

// wantLawful checks that no pointer in the bucket names data that is not there.
func wantLawful(t *testing.T, s store.Store, names map[string][]string) {
	t.Helper()
	have := bucket(t, s)
	for pointer, text := range have {
		if !strings.HasPrefix(filepath.Base(pointer), "latest") {
			continue
		}
		dir := filepath.Join(filepath.Dir(pointer), strings.TrimSpace(text))
		if strings.TrimSpace(text) == "10" {
			dir = "fsx1/meg/iter_0000010"
		}
		for _, f := range names[dir] {
			if _, ok := have[dir+"/"+f]; !ok {
				t.Errorf("%s is there, %s/%s is not", pointer, dir, f)
			}
		}
	}
}

var data = map[string][]string{
	"fsx1/run/checkpoint-1":   {"model.bin", "sub/optim.bin"},
	"fsx1/run/checkpoint-2":   {"model.bin", "empty"},
	"fsx1/run/checkpoint-4":   {"model.bin"},
	"fsx1/meg/iter_0000010":   {"model.pt"},
	"fsx1/link/step-5":        {"x"},
	"fsx1/run/checkpoint-new": {"model.bin"},
}
