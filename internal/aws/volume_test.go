package aws_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws"
)

const volumeFile = plainFile + `SharedStorage:
  - {Name: disk, MountDir: /disk, StorageType: Ebs, EbsSettings: {Size: 40, DeletionPolicy: Retain}}
`

// TestVolumesOfARunningHeadNode takes a cluster down that has a volume: EC2 takes none
// from a machine that has it mounted, so the machine ends first. For the same reason a
// file does without it only once the cluster is down.
func TestVolumesOfARunningHeadNode(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), volumeFile, "", r); err != nil {
		t.Fatal(err)
	}
	_, err := w.up(t.Context(), plainFile, "", r)
	if refused, ok := errors.AsType[*aws.Refused](err); !ok || !strings.Contains(refused.Error(), " mounted, and EC2 takes it from no machine that does: run `muster down`") {
		t.Errorf("the volume leaves the file: %v", err)
	}
	if _, err := w.down(t.Context(), false, r); err != nil {
		t.Fatal(err)
	}
	if got := r.detail("delete stack demo"); got != "gone" {
		t.Errorf("delete stack demo: %s", got)
	}
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
}
