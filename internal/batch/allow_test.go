package batch_test

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
)

func TestAllow(t *testing.T) {
	const bad = "script/env-pinned"
	for _, row := range []struct {
		name, script string
		left         bool
	}{
		{"nothing", "export NCCL_ALGO=Ring\n", true},
		{"at_the_end", "export NCCL_ALGO=Ring # muster: allow script/env-pinned\n", false},
		{"above", "# muster: allow script/env-pinned\n\n# NVLS is broken with our driver.\nexport NCCL_ALGO=Ring\n", false},
		{"another_code", "# muster: allow script/env-tuning\nexport NCCL_ALGO=Ring\n", true},
		{"another_line", "# muster: allow script/env-pinned\nhostname\nexport NCCL_ALGO=Ring\n", true},
		{"statement", "# muster: allow script/env-pinned\nmpirun -np 8 \\\n  -x NCCL_ALGO=Ring \\\n  hostname\n", false},
		{"behind_the_statement", "# muster: allow script/env-pinned\nmpirun -np 8 \\\n  hostname\nexport NCCL_ALGO=Ring\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			list := batch.Check("s", []byte("#!/bin/bash\n#SBATCH --nodes=2\n"+row.script), nil, nil)
			left := false
			for _, d := range list.All() {
				left = left || d.Code == bad
				if d.Code == "file/allow" {
					t.Error("without a cluster nobody knows whether a comment is for nothing")
				}
			}
			if left != row.left {
				t.Errorf("%s is left: %t, want %t:\n%s", bad, left, row.left, said(t, list))
			}
		})
	}
}

// TestAllow_keeps_errors_and_tells_what_is_for_nothing needs facts.
func TestAllow_keeps_errors_and_tells_what_is_for_nothing(t *testing.T) {
	script := []byte(`#!/bin/bash
# muster: allow script/time
#SBATCH --nodes=2
#SBATCH --exclude=q-st-nodes-3 # muster: allow script/exclude
#SBATCH --nodse=2 # muster: allow script/option
export NCCL_DEBUG=WARN # muster: allow script/nccl-debgu
`)
	var got []string
	for _, d := range batch.Check("s", script, nil, factsOfType("p5.48xlarge", true)).All() {
		if slices.Contains([]string{"script/time", "script/exclude", "script/option", "file/allow"}, d.Code) {
			got = append(got, d.Code+": "+d.Message)
		}
	}
	want := []string{
		"script/option: --nodse is no option of sbatch",
		"file/allow: script/option is allowed here, but nothing is reported for it",
		"file/allow: script/nccl-debgu is allowed here, but nothing is reported for it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
