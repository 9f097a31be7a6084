package spec_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

func TestNameOf(t *testing.T) {
	for _, row := range []struct{ name, file, want string }{
		{"the_files_own", "/data/train-80.yaml", "train-80"},
		{"other_ending", "/data/train.yml", "train"},
		{"the_folders", "/data/train/cluster.yaml", "train"},
		{"the_folders_again", "/data/train/cluster-config.yaml", "train"},
		{"no_name", "/data/80-nodes.yaml", ""},
		{"no_name_of_a_folder", "/cluster.yaml", ""},
		{"dots", "/data/v1.2.yaml", ""},
		{"too_long", "/data/a" + strings.Repeat("b", 40) + ".yaml", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := spec.NameOf(row.file)
			if got != row.want || (err == nil) != (row.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
			if err != nil && !strings.HasSuffix(err.Error(), "; give one with --cluster") {
				t.Errorf("%v says nothing to do", err)
			}
		})
	}
}
