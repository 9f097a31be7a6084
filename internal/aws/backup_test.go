package aws_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/fsx"
)

// TestDownLeavesNoBackup deletes a file system of OpenZFS, of which FSx makes a last
// backup unless it is told otherwise, and bills it.
func TestDownLeavesNoBackup(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), plainFile, zfs, r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	out, err := fsx.NewFromConfig(w.Config()).DescribeBackups(t.Context(), &fsx.DescribeBackupsInput{})
	if err != nil || len(out.Backups) > 0 {
		t.Errorf("%d backups, %v", len(out.Backups), err)
	}
}
