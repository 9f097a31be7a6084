package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File replaces a file of the host on a machine. It is written into the machine's own
// layer and not mounted: programs could not replace a mount point.
type File struct {
	Path string      `json:"path"`
	Text string      `json:"text"`
	Mode os.FileMode `json:"mode"`
}

// place writes the files below one entry of the root into its upper layer.
func (r Root) place(name string) error {
	for _, f := range r.Files {
		if !strings.HasPrefix(f.Path, "/"+name+"/") {
			continue
		}
		at := filepath.Join(r.Dir, "upper", f.Path)
		if err := os.WriteFile(at, []byte(f.Text), f.Mode); err != nil {
			return err
		}
		if err := os.Chmod(at, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// has tells whether the machine has a file of its own at a path of its root.
func (r Root) has(path string) bool {
	return slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == path })
}
