package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// markFile says that a directory was made to be a cluster's. It is the first file in
// one, and the last to go.
const markFile = ".muster"

// claimed refuses a directory with files that muster did not make: MUSTER_HOME may be a
// user's folder of projects, whose files are not a cluster's.
func claimed(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	strange := ""
	for _, e := range entries {
		switch {
		case e.Name() == markFile || e.Name() == "cluster.json":
			return nil
		case !slices.Contains(kept, e.Name()): // data of a cluster that was taken down
			strange = e.Name()
		}
	}
	if strange == "" {
		return nil
	}
	return fmt.Errorf("%s is no directory of a cluster: it has %q; choose another name with --cluster, or let MUSTER_HOME name another folder", dir, strange)
}

// claim marks a run directory that was just made, or that held data.
func claim(l *nodes.Layout) error {
	f, err := os.OpenFile(l.Path(markFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("muster made this directory, and `muster down` deletes it.\n")
	return errors.Join(err, f.Close())
}

// made tells whether muster makes something of this name in a run directory. Other files
// stay there as long as data does.
func made(l *nodes.Layout, name string) bool {
	if beside, ok := strings.CutPrefix(name, "."); ok { // a file on its way to its name, see local.WriteFile
		name = beside[:max(0, strings.LastIndexByte(beside, '-'))]
	}
	for _, d := range runDirectories(l, owners{}) {
		if top, _, _ := strings.Cut(d.path, "/"); top != "" && top == name {
			return true
		}
	}
	return slices.Contains(kept, name) || slices.Contains(topFiles, name)
}

// topFiles are what a run directory has beside its directories.
var topFiles = []string{"anchor.json", "cluster.json", "cluster.yaml", "fleet.json", "muster.yaml", "record.lock", formerDir, trialDir, unreadChanges}
