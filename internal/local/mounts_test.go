package local

import (
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestStorageDir(t *testing.T) {
	for _, row := range []struct {
		name string
		dirs []string
		want []string // their directories
	}{
		{"usual", []string{"/fsx1", "/my-data", "/fsx/data"}, []string{"fsx1", "my-data", "fsx-data"}},
		{"two_that_read_alike", []string{"/a/b", "/a-b"}, []string{"a%2Fb", "a-b"}},
		{"three_that_read_alike", []string{"/a/b/c", "/a-b/c", "/a/b-c", "/a-b-c"}, []string{"a%2Fb%2Fc", "a-b%2Fc", "a%2Fb-c", "a-b-c"}},
		{"the_escape_itself", []string{"/a/b", "/a-b", "/a%2Fb"}, []string{"a%2Fb", "a-b", "a%252Fb"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &spec.Cluster{}
			for _, d := range row.dirs {
				c.SharedStorage = append(c.SharedStorage, spec.SharedStorage{MountDir: d})
			}
			for i, d := range row.dirs {
				if got := filepath.Base(StorageDir(&nodes.Layout{Dir: "/r"}, c, d)); got != row.want[i] {
					t.Errorf("%s is %s, want %s", d, got, row.want[i])
				}
			}
		})
	}
}
