package manifest

import (
	"fmt"
	"strings"
)

// order holds that paths come in the order of their bytes, and that none of them is a directory of another.
type order struct {
	last  string
	above []string // paths that the last one begins with, each of which the next begins with
}

func (o *order) next(path string) error {
	if o.last != "" && path <= o.last {
		return fmt.Errorf("%q comes after %q", path, o.last)
	}
	for len(o.above) > 0 && !strings.HasPrefix(path, o.above[len(o.above)-1]) {
		o.above = o.above[:len(o.above)-1]
	}
	for _, file := range o.above {
		if path[len(file)] == '/' {
			return fmt.Errorf("%q is a file, and %q is below it", file, path)
		}
	}
	o.above, o.last = append(o.above, path), path
	return nil
}
