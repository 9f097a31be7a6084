package export

import (
	"path"
	"slices"
	"strings"
)

// temporary says that a file is not meant to stay, by its name or that of a directory above it.
func temporary(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(name, ".tmp-") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".part") {
			return true
		}
	}
	return false
}

// growing says that a file is one that programs append to: a part of it is worth having.
func growing(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, "events.out.tfevents.") ||
		slices.Contains([]string{".log", ".out", ".err", ".txt", ".jsonl", ".csv"}, path.Ext(name))
}

// pointerName says that a file may name the newest of its siblings.
func pointerName(p string) bool { return strings.HasPrefix(path.Base(p), "latest") }

// alwaysPointer says that a file is a pointer whatever it holds: DeepSpeed's and ours, and Megatron's.
func alwaysPointer(p string) bool {
	name := path.Base(p)
	return name == "latest" || name == "latest_checkpointed_iteration.txt"
}

// below says that p is in the directory dir, at any depth.
func below(p, dir string) bool {
	return dir == "." || strings.HasPrefix(p, dir+"/")
}
