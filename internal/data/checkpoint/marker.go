package checkpoint

import (
	"iter"
	"path"
	"slices"
)

// markers are names of files by which people say that a directory is whole. The last is of Orbax, which writes it where a directory
// cannot be renamed (https://github.com/google/orbax/blob/main/checkpoint/orbax/checkpoint/_src/path/atomicity.py, CommitFileTemporaryPath).
var markers = []string{".complete", "complete", "COMPLETE", ".done", "_SUCCESS", ".success", ".finished", "DONE", "commit_success.txt"}

// IsMarker reports whether a file says by its name that the directory it is in is whole.
func IsMarker(p string) bool { return slices.Contains(markers, path.Base(p)) }

// MarkerOf returns the file by which a checkpoint says that it is whole, "" if there is none.
func MarkerOf(files []File) string {
	for _, f := range files {
		if path.Dir(f.Path) == "." && IsMarker(f.Path) {
			return f.Path
		}
	}
	return ""
}

// Markers returns for each run the file by which any of its checkpoints says that it is whole. A run is the directory that
// checkpoints are in. It asks all of them: of those that were cut off some have no marker.
func Markers(paths iter.Seq[string], dirs []string) map[string]string {
	is := make(map[string]bool, len(dirs))
	for _, dir := range dirs {
		is[dir] = true
	}
	found := map[string]string{}
	for p := range paths {
		if dir := path.Dir(p); IsMarker(p) && is[dir] {
			found[path.Dir(dir)] = max(found[path.Dir(dir)], path.Base(p))
		}
	}
	return found
}
