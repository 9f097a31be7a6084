package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/growth"
)

// TestFixes_of_large_files holds that thousands of mistakes are fixed soon. The
// limit is far above what it takes, and far below what one check for each takes, on any machine: an ordinary file is the measure of it.
func TestFixes_of_large_files(t *testing.T) {
	limit := 150 * parsing(t, 10_000)
	for _, row := range []struct{ name, entry string }{
		{"misspelt", "      - bucketName: b%d\n        KeyName: k # why\n"},
		{"twice", "      - BucketName: b%d\n        KeyName: k # why\n        KeyName: k\n"},
		{"value", "      - BucketName: b%d\n        EnableWriteAccess: \"tRue\" # why\n        KeyName: k\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			const many = 3000
			text := "HeadNode:\n  Iam:\n    S3Access:\n"
			for i := range many {
				text += fmt.Sprintf(row.entry, i)
			}
			start := growth.Busy(t)
			done := mender(spec.Options{Fixes: true}).Mend([]byte(text))
			took := growth.Busy(t) - start
			if len(done.Fixed) != many {
				t.Errorf("%d are fixed, want %d", len(done.Fixed), many)
			}
			if n := strings.Count(string(done.Text), "# why"); n != many {
				t.Errorf("%d comments are left", n)
			}
			t.Logf("%v", took)
			if took > limit {
				t.Errorf("it took %v", took)
			}
		})
	}
}
