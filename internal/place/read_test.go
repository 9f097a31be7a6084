package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/spec"
)

// shown fails with the problems that it is shown.
type shown struct{ place.Talk }

func (shown) Problems(list *diag.List) error { return list.Err() }

// TestReadCluster_fills holds that what places make a cluster of, and keep of it, is the filled text.
func TestReadCluster_fills(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"filled", "Region: ${A}\nImage: ${B}\n", "Region: one\nImage: two\n"},
		{"unset", "Region: ${A}${B}${C}\n", ""},
		{"unused", "Region: ${B}\n", ""},
		{"batch_script", "#!/bin/bash\n#SBATCH -N 2\necho ${A}\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cluster.yaml")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			environment := func(name string) (string, bool) { return "two", name == "B" }
			got, err := place.ReadCluster(place.Files{Cluster: path, Variables: &spec.Variables{Set: map[string]string{"A": "one"}, Environment: environment}}, shown{})
			if (err == nil) != (row.want != "") || err == nil && string(got) != row.want {
				t.Errorf("got %q, %v; want %q", got, err, row.want)
			}
		})
	}
}
