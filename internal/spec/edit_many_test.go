package spec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/growth"
	"github.com/muster-hpc/muster/test/soak"
)

// TestSoak_fixes_of_large_files holds that thousands of mistakes are fixed soon. The
// limit is far above what it takes, and far below what one check for each takes, on any machine: an ordinary file is the measure of it.
func TestSoak_fixes_of_large_files(t *testing.T) {
	soak.Only(t, "it measures; TestFixes_of_many_mistakes fixes fewer")
	fixesMany(t, 3000, 150*parsing(t, 10_000))
}

func TestFixes_of_many_mistakes(t *testing.T) { fixesMany(t, 200, time.Hour) }

// fixesMany fixes so many mistakes of each kind, within the limit.
func fixesMany(t *testing.T, many int, limit time.Duration) {
	for _, row := range []struct{ name, entry string }{
		{"misspelt", "      - bucketName: b%d\n        KeyName: k # why\n"},
		{"twice", "      - BucketName: b%d\n        KeyName: k # why\n        KeyName: k\n"},
		{"value", "      - BucketName: b%d\n        EnableWriteAccess: \"tRue\" # why\n        KeyName: k\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
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
