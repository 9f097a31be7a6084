package test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// refusedRecord has what sbatch said of options. The tests of package batch hold check to it.
const refusedRecord = "../internal/batch/testdata/slurm-22.05.8/sbatch.tsv"

// refusesAsRecorded holds the record to this machine's sbatch, where it is of that version.
func refusesAsRecorded(t *testing.T, c *cluster) {
	if v := c.head("sbatch", "--version"); !strings.HasPrefix(v, "slurm-wlm 22.05") {
		t.Logf("the record is of Slurm 22.05, and this is %s", v)
		return
	}
	data, err := os.ReadFile(refusedRecord)
	if err != nil {
		t.Fatal(err)
	}
	c.file("try.sh", tryOptions)
	if golden.Updating() {
		if err := os.WriteFile(refusedRecord, []byte(c.asks(string(data))), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	// A node that the test before killed may be missing for a while.
	left := slices.Collect(strings.Lines(string(data)))
	defer func() { t.Logf("other answers: %q", left) }()
	c.await("sbatch to answer as it did", 2*time.Minute, func() bool {
		said := slices.Collect(strings.Lines(c.asks(strings.Join(left, ""))))
		left = slices.DeleteFunc(left, func(line string) bool { return slices.Contains(said, line) })
		return len(left) == 0
	})
}

// asks tries options in the form of the record.
func (c *cluster) asks(options string) string {
	c.file("options", options)
	return c.head("bash", "try.sh", "options")
}

// tryOptions tries the options in the first field of each line, a few at a time.
const tryOptions = `set -u
try() {
	dir=$(mktemp -d)
	printf '#!/bin/bash\n#SBATCH --output=/dev/null %s\ntrue\n' "$1" >"$dir/job"
	answer=taken
	said=$(sbatch --test-only "$dir/job" 2>&1) || answer=refused$'\t'$(sed -n '1s/^sbatch: //; 1s/^error: //; 1p' <<<"$said")
	printf '%s\t%s\n' "$1" "$answer" >"$out/$2"
	rm -r "$dir"
}
export -f try
export out=$(mktemp -d)
cut -f1 "$1" | awk '{ printf "%s%c%06d%c", $0, 0, NR, 0 }' | xargs -0 -n2 -P4 bash -c 'try "$@"' try
cat "$out"/*
rm -r "$out"
`
