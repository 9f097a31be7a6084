package batch_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
)

// TestCheck_names_shared_storage_only holds that a hint does not list all that is
// mounted on the machine that checks.
func TestCheck_names_shared_storage_only(t *testing.T) {
	facts := &batch.Facts{Filed: true, Mounts: []batch.Mount{{Dir: "/fsx1", Kind: "FsxLustre"}, {Dir: "/home", Kind: "HeadNode"}, {Dir: "/proc"}, {Dir: "/work"}}}
	list := batch.Check("a.sbatch", []byte("#!/bin/bash\n#SBATCH --output=/fsx4/%j.out\nsrun hostname\n"), nil, facts)
	for _, d := range list.All() {
		if d.Code == "script/mount" {
			if d.Hint != "there is /fsx1" {
				t.Errorf("the hint is %q", d.Hint)
			}
			return
		}
	}
	t.Errorf("no script/mount among %v", list.All())
}
