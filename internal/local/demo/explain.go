package demo

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/say/count"
)

// explain says why the demo ends early, with the ends of the logs unless it was stopped. It
// returns the error, with a full disk as its likely cause.
func (d *demo) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		d.Report.Note("stopped; taking down what is there")
		return err
	}
	if why := fullDisk(d.Home); why != "" {
		err = fmt.Errorf("%w; %s", err, why)
	}
	d.Report.Note("failed: " + err.Error())
	for _, pattern := range []string{"log/*.log", "log/events.jsonl", "log/nodes/*.log", "shared/fsx3/*/logs/*.out", "shared/fsx3/logs/*.out"} {
		paths, _ := filepath.Glob(d.layout.Path(pattern))
		showEnds(d.Out, paths)
	}
	return err
}

// showEnds writes the last lines of files that are not empty.
func showEnds(w io.Writer, paths []string) {
	for _, p := range paths {
		if end := lastLines(p, 8); strings.TrimSpace(end) != "" {
			fmt.Fprintf(w, "--- the end of %s\n%s\n", p, end)
		}
	}
}

// fullDisk says that the disk of a directory is full, or why that is not known.
func fullDisk(dir string) string {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Sprintf("the free space of %s is not known: %v", dir, err)
	}
	return judgeDisk(dir, disk)
}

// tooLittleBytes is what daemons need to go on for a while: they write some MB at once.
const tooLittleBytes = 16 << 20

// judgeDisk is "" where there is room. File systems without a fixed number of files have
// Files = 0.
func judgeDisk(dir string, disk syscall.Statfs_t) string {
	const next = "; make room, or let MUSTER_HOME name another folder"
	if free := int64(disk.Bavail) * disk.Bsize; free < tooLittleBytes {
		return fmt.Sprintf("the disk is full: %s has %s free%s", dir, count.Bytes(free), next)
	}
	if disk.Files > 0 && disk.Ffree == 0 {
		return fmt.Sprintf("the disk is full: %s has no room for another file%s", dir, next)
	}
	return ""
}
