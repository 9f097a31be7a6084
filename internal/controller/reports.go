package controller

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// mostReports is how many reports are kept, the newest.
const mostReports = 64

// keepReport writes down what a burn-in found on a machine that will be gone, and says where. A report that cannot be kept is lost, and
// stops nothing.
func (c *Controller) keepReport(node string, report []byte) (path string) {
	if c.Reports == "" || node == "" || len(report) == 0 {
		return ""
	}
	err := os.MkdirAll(c.Reports, 0o755)
	if err == nil {
		path = filepath.Join(c.Reports, time.Now().UTC().Format("20060102T150405.000Z")+"-"+node+".json")
		err = whole.Write(path, append(report, '\n'), 0o644)
	}
	if err != nil {
		c.Log.Warn("a burn-in's report is not kept", "node", node, "error", err)
		return ""
	}
	if err := dropReports(c.Reports); err != nil {
		c.Log.Warn("old reports of burn-ins are not removed", "error", err)
	}
	return path
}

// dropReports removes the oldest, whose names come first.
func dropReports(dir string) error {
	all, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".json") })
	for _, e := range all[:max(0, len(all)-mostReports)] {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
