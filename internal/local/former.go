package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// formerDir has the files that a cluster which runs was made of, while it is changed.
const formerDir = "former"

// keepFormer copies the files that a cluster runs with before other ones take their
// place. One that does not work has nothing to go back to but what is kept already.
func keepFormer(l *nodes.Layout, works bool, source []byte) error {
	old, err := os.ReadFile(l.Path("cluster.yaml"))
	if errors.Is(err, fs.ErrNotExist) || !works || string(old) == string(source) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := dropFormer(l); err != nil {
		return err
	}
	if err := os.Mkdir(l.Path(formerDir), 0o700); err != nil {
		return err
	}
	if err := whole.Write(l.Path(formerDir, "cluster.yaml"), old, 0o644); err != nil {
		return err
	}
	workload, err := os.ReadFile(l.Path("muster.yaml"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(workload) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return whole.Write(l.Path(formerDir, "muster.yaml"), workload, 0o644)
}

// dropFormer forgets them, once the cluster works with what it has now.
func dropFormer(l *nodes.Layout) error { return sweepPath(l, formerDir) }

// orFormer adds to why slurmctld does not start how the cluster gets what it had before.
func orFormer(l *nodes.Layout, name string, err error) error {
	path := l.Path(formerDir, "cluster.yaml")
	if _, missing := os.Stat(path); err == nil || missing != nil {
		return err
	}
	return fmt.Errorf("%w; the cluster has the new file now, and `muster up --cluster %s %s` gives it back the one before", err, name, path)
}
