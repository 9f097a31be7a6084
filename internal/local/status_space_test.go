package local

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatusSaysThatTheDiskIsFull(t *testing.T) {
	for _, x := range []struct {
		free, total int64
		want        []string
	}{
		{0, 64 << 20, []string{"the disk is full or soon will be: 0 B of 64 MiB are free in /run/demo; jobs, Slurm and exports fail without"}},
		{99 << 20, 1 << 30, []string{"the disk is full or soon will be: 99 MiB of 1.0 GiB are free in /run/demo; jobs, Slurm and exports fail without"}},
		{100 << 20, 1 << 30, nil},
		{400 << 20, 50 << 30, []string{"the disk is full or soon will be: 400 MiB of 50 GiB are free in /run/demo; jobs, Slurm and exports fail without"}},
		{1 << 30, 50 << 40, nil},
	} {
		var s sight
		s.judgeSpace("/run/demo", x.free, x.total)
		if diff := cmp.Diff(x.want, s.Look); diff != "" {
			t.Errorf("%d of %d (-want +got):\n%s", x.free, x.total, diff)
		}
	}
}

func TestStatusSaysThatTheDiskTakesNoFiles(t *testing.T) {
	const said = "the disk has no room for more files or soon will not, whatever space is free: "
	for _, x := range []struct {
		free, total int64
		want        []string
	}{
		{0, 50, []string{said + "0 of 50 inodes are free in /run/demo; jobs, Slurm and exports fail without"}},
		{1, 50, nil},
		{9, 1000, []string{said + "9 of 1000 inodes are free in /run/demo; jobs, Slurm and exports fail without"}},
		{10_000, 1 << 40, nil},
		{0, 0, nil}, // btrfs counts none
	} {
		var s sight
		s.judgeInodes("/run/demo", x.free, x.total)
		if diff := cmp.Diff(x.want, s.Look); diff != "" {
			t.Errorf("%d of %d (-want +got):\n%s", x.free, x.total, diff)
		}
	}
}

// TestStatusIsBlindForADiskThatIsNotThere measures real directories.
func TestStatusIsBlindForADiskThatIsNotThere(t *testing.T) {
	var s sight
	s.lookAtSpace("/proc") // of which nothing is free
	s.lookAtSpace(filepath.Join(t.TempDir(), "none"))
	if len(s.Look) != 1 || len(s.Blind) != 1 {
		t.Errorf("look at %q, blind %q", s.Look, s.Blind)
	}
}
