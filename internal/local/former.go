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

// keepFormer copies the files of a cluster that works before new ones replace them. If it
// does not work, the copies of an earlier call stay.
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(workload) == 0 {
		workload = []byte("{}\n") // without any, the cluster would keep the one that it has by then
	}
	return whole.Write(l.Path(formerDir, "muster.yaml"), workload, 0o644)
}

// dropFormer deletes the copies, once the cluster works with the new files.
func dropFormer(l *nodes.Layout) error { return sweepPath(l, formerDir) }

// orFormer adds to an error how the cluster gets its former file back, if there is one.
func orFormer(l *nodes.Layout, name string, err error) error {
	path := l.Path(formerDir, "cluster.yaml")
	if _, missing := os.Stat(path); err == nil || missing != nil {
		return err
	}
	return fmt.Errorf("%w; the cluster has the new file now, and `muster up --cluster %s %s` gives it back the one before", err, name, path)
}
