package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangeRecord: of many changes at once none is lost.
func TestChangeRecord(t *testing.T) {
	const changes = 40
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range changes {
		group.Go(func() {
			l := &Layout{Dir: dir} // as another process has it
			err := l.ChangeRecord(func(r Record) Record {
				r.show(fmt.Sprintf("/data/%02d", i))
				return r
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	r, err := (&Layout{Dir: dir}).Record()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Shared) != changes {
		t.Errorf("%d of %d changes are left", len(r.Shared), changes)
	}
}

func TestChangeRecord_follows_no_link(t *testing.T) {
	l, other := &Layout{Dir: t.TempDir()}, filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(other, l.Path("record.lock")); err != nil {
		t.Fatal(err)
	}
	if err := l.ChangeRecord(func(r Record) Record { return r }); err == nil {
		t.Error("it locked what a link leads to")
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("it made a file through a link")
	}
}

// TestRecord_Keep: what jobs of an earlier `up` use stays, as long as it is there.
func TestRecord_Keep(t *testing.T) {
	there, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	host := func(dir string) Mount { return Mount{Source: dir, Target: dir} }
	fsx := Mount{Source: "/run/shared/fsx", Target: "/fsx"}
	for _, row := range []struct {
		name           string
		now, old, want []Mount
	}{
		{"earlier_directory", []Mount{fsx}, []Mount{host(there)}, []Mount{fsx, host(there)}},
		{"same_directory", []Mount{host(there)}, []Mount{host(there)}, []Mount{host(there)}},
		{"below_a_new_one", []Mount{host(filepath.Dir(there))}, []Mount{host(there)}, []Mount{host(filepath.Dir(there))}},
		{"no_longer_there", []Mount{fsx}, []Mount{host(gone)}, []Mount{fsx}},
		{"mount_of_the_old_file", []Mount{fsx}, []Mount{{Source: there, Target: "/old"}}, []Mount{fsx}},
		{"mount_of_the_new_file", []Mount{{Source: "/x", Target: there}}, []Mount{host(there)}, []Mount{{Source: "/x", Target: there}}},
		{"around_a_new_mount", []Mount{{Source: "/x", Target: there + "/x"}}, []Mount{host(there)}, []Mount{host(there), {Source: "/x", Target: there + "/x"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := Record{Shared: row.now}
			r.Keep(Record{Shared: row.old})
			if diff := cmp.Diff(row.want, r.Shared); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]Mount{fsx, host(there)}, present([]Mount{fsx, host(gone), host(there)})); diff != "" {
		t.Errorf("present: want -, got +:\n%s", diff)
	}
}
