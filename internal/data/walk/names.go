package walk

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// batch is how many names are read at a time.
const batch = 4096

// entry is a name of a directory. There may be very many.
type entry struct {
	name string
	dir  bool // it is a directory, or a link to one that is followed
	link bool
}

// read has the names of a directory in the order of keys.
func read(at string, noFollow bool) ([]entry, error) {
	d, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all []entry
	for {
		some, err := d.ReadDir(batch)
		all = append(all, packed(at, some, noFollow)...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, inOrder)
	return all, nil
}

// packed are entries whose names lie in one piece of memory.
func packed(at string, some []fs.DirEntry, noFollow bool) []entry {
	var text strings.Builder
	for _, e := range some {
		text.WriteString(e.Name())
	}
	rest, all := text.String(), make([]entry, 0, len(some))
	for _, e := range some {
		n := entry{name: rest[:len(e.Name())], dir: e.IsDir(), link: e.Type()&fs.ModeSymlink != 0}
		rest = rest[len(e.Name()):]
		if n.link && !noFollow {
			n.dir = leadsToDir(at + "/" + n.name)
		}
		all = append(all, n)
	}
	return all
}

// leadsToDir says what a link is taken for. What is wrong with it shows when it is visited.
func leadsToDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.IsDir()
}

// inOrder compares the keys of two entries: those of a directory go on with a slash.
func inOrder(a, b entry) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(after(a, n), after(b, n))
}

// after is the byte of a key behind so many, -1 at its end.
func after(e entry, n int) int {
	switch {
	case n < len(e.name):
		return int(e.name[n])
	case e.dir:
		return '/'
	}
	return -1
}
