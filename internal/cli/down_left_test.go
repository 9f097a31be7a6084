package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func TestShowUnexported(t *testing.T) {
	for _, c := range []struct {
		name string
		left *place.Unexported
		want string
	}{
		{"all_is_there", nil, ""},
		{"some", &place.Unexported{Why: "nothing moved for 15 s", Files: 3, SizeBytes: 2 << 30, Dir: "/run/demo/shared", First: []place.UnexportedFile{
			{Path: "/fsx1/ck\x1b/model.bin", SizeBytes: 2 << 30, Reason: "new"}, {Path: "/fsx1/ck/latest", SizeBytes: 4, Reason: "it waits for ck/model.bin"},
		}}, `muster: 3 files are not in the buckets, 2.0 GiB: nothing moved for 15 s
  /fsx1/ck\x1b/model.bin, 2.0 GiB: new
  /fsx1/ck/latest, 4 B: it waits for ck/model.bin
  and 1 more
the data stays in /run/demo/shared, and the next ` + "`muster up`" + ` of this cluster exports it
`},
		{"some_and_nobody_knows", &place.Unexported{Unknown: true, Why: "not found", Files: 1, SizeBytes: 4, Dir: "/d", First: []place.UnexportedFile{{Path: "/fsx1/a", SizeBytes: 4, Reason: "new"}}},
			`muster: at least 1 file is not in the buckets, 4 B: not found
  /fsx1/a, 4 B: new
the data stays in /d, and the next ` + "`muster up`" + ` of this cluster exports it
`},
		{"some_cannot", &place.Unexported{Why: "you did not wait", Files: 3, SizeBytes: 12, Blocked: 1, Dir: "/d", First: []place.UnexportedFile{
			{Path: "/fsx1/a", SizeBytes: 4, Reason: "new", Blocked: false}, {Path: "/fsx1/pipe", SizeBytes: 0, Reason: "it is a pipe, not a file", Blocked: true},
		}}, `muster: 3 files are not in the buckets, 12 B: you did not wait
  /fsx1/a, 4 B: new
  /fsx1/pipe, cannot be exported: it is a pipe, not a file
  and 1 more
the data stays in /d, and the next ` + "`muster up`" + ` of this cluster exports what can be exported; as things are, 1 file cannot
`},
		{"none_can", &place.Unexported{Why: "they cannot be exported", Files: 2, SizeBytes: 4, Blocked: 2, Dir: "/d", First: []place.UnexportedFile{
			{Path: "/fsx1/a", SizeBytes: 4, Reason: "its name is not UTF-8", Blocked: true}, {Path: "/fsx1/shut/", SizeBytes: 0, Reason: "permission denied", Blocked: true},
		}}, `muster: 2 files are not in the buckets, 4 B: they cannot be exported
  /fsx1/a, 4 B, cannot be exported: its name is not UTF-8
  /fsx1/shut/, cannot be exported: permission denied
the data stays in /d, and no ` + "`muster up`" + ` of this cluster exports it as things are
`},
		{"nobody_knows", &place.Unexported{Unknown: true, Why: "no answer", Dir: "/d"}, `muster: it is unknown which files still have to be exported: no answer
the data stays in /d, and the next ` + "`muster up`" + ` of this cluster exports it
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := (&app{err: &out, quiet: true}).showUnexported(c.left)
			var code fault.Exit
			if errors.As(err, &code) != (c.left != nil) || c.left != nil && int(code) != fault.ExitLook {
				t.Errorf("it ends with %v", err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeptData names the data of clusters that were taken down, and of no others.
func TestKeptData(t *testing.T) {
	home := t.TempDir()
	for _, path := range []string{"old/shared/fsx/file", "runs/cluster.json", "runs/shared/file", "else/file"} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := "; the data of old is kept in " + home + "/old, and `muster down --cluster old --delete-data` deletes it"
	if got := keptData(home); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
