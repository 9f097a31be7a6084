package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

func TestNotOfMachines(t *testing.T) {
	home, here := t.TempDir(), t.TempDir()
	t.Setenv("MUSTER_HOME", home)
	record, err := json.Marshal(nodes.Record{Name: "lab", Shared: []nodes.Mount{
		{Source: "/run/lab/shared/fsx", Target: "/there-is-no-fsx-here"}, {Source: "/run/lab/shared/home", Target: here},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "lab"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "lab", "cluster.json"), record, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ cluster, dir, want string }{
		{"lab", "/there-is-no-fsx-here/v", "`muster exec -- muster data pull` does it there; here that directory is /run/lab/shared/fsx/v"},
		{"lab", "/there-is-no-fsx-here", "here that directory is /run/lab/shared/fsx"},
		{"lab", "/there-is-no-fsx-here-either", ""},
		{"lab", "there-is-no-fsx-here/v", ""},
		{"lab", here + "/v", ""},
		{"", "/there-is-no-fsx-here/v", ""},
		{"other", "/there-is-no-fsx-here/v", ""},
	} {
		err := (&app{cluster: row.cluster}).notOfMachines("pull", row.dir)
		if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("--cluster=%s, %s: %v, want %q", row.cluster, row.dir, err, row.want)
		}
	}
}
