package export

import (
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/part"
)

// see reads of the checkpoints that are to be exported what says whether their files are whole. Of a file that did not change
// nothing is read again.
func (m *Mirror) see(d *decision) error {
	m.seen.Sweep()
	var root *os.Root
	for _, c := range d.saved {
		if d.allExported(c) && !d.newlyNamed(c) {
			continue
		}
		if root == nil {
			var err error
			if root, err = m.Rule.open(); err != nil {
				return fmt.Errorf("look at checkpoints in %s: %w", m.Rule.Dir, err)
			}
			defer root.Close()
			d.Seen = map[string]checkpoint.Set{}
		}
		reads := part.Reads{Left: math.MaxInt, Open: func(p string) (*os.File, error) {
			return root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		}}
		set, err := checkpoint.Look(d.set(c), checkpoint.Written, &m.seen, reads.Reader(func(p string) string { return path.Join(c.dir, p) }))
		if err != nil {
			return fmt.Errorf("look at checkpoint %s: %w", c.dir, err)
		}
		d.Seen[c.dir] = set
	}
	return nil
}

// allExported reports whether the bucket has all files of a checkpoint as they are.
func (d *decision) allExported(c *saved) bool {
	for _, f := range d.parts(c) {
		if o, have := d.Objects[f.Path]; !have || !exported(f, o) {
			return false
		}
	}
	return true
}

// newlyNamed reports whether a pointer names a checkpoint and does so in the directory alone.
func (d *decision) newlyNamed(c *saved) bool {
	return slices.ContainsFunc(d.pointers, func(p pointer) bool {
		o, have := d.Objects[p.file.Path]
		return (p.target == c.dir || below(p.target, c.dir)) && !(have && exported(p.file, o))
	})
}
