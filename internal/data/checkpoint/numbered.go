package checkpoint

import (
	"path"
	"strings"
)

// Numbered reports whether the name of a directory is nothing but a number, as Orbax, nanotron and lingua call their checkpoints.
// Others call their directories so, too: it takes a file in it to make a checkpoint of one.
func Numbered(dir string) bool { return isNumber(path.Base(dir)) }

func isNumber(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// numberedAbove is the directory with a number for a name that a file makes a checkpoint of, "" if there is none: Orbax has its
// files in it, in its items, or in what each process writes of an item.
func numberedAbove(p string) string {
	up := 3
	switch path.Base(p) {
	case "checkpoint_metadata.json": // nanotron
		up = 1
	case "_CHECKPOINT_METADATA", "commit_success.txt", "manifest.ocdbt", "_METADATA":
	default:
		return ""
	}
	for dir := path.Dir(p); up > 0 && dir != "." && dir != "/"; dir, up = path.Dir(dir), up-1 {
		if Numbered(dir) {
			return dir
		}
		if stem, tmp := orbaxTemporary(path.Base(dir)); tmp && Step(stem) != NoStep || Step(dir) != NoStep {
			return ""
		}
	}
	return ""
}

// orbaxTemporary returns the name that a directory of Orbax gets when all of it is written, and whether it is such a one
// (https://github.com/google/orbax/blob/main/checkpoint/orbax/checkpoint/_src/path/atomicity.py, TMP_DIR_SUFFIX).
func orbaxTemporary(name string) (stem string, is bool) {
	stem, rest, is := strings.Cut(name, ".orbax-checkpoint-tmp")
	return stem, is && (rest == "" || rest[0] == '-')
}

// orbax: Orbax writes each item into a directory with a temporary name, where directories can be renamed.
func (p *part) orbax() {
	for up := p.dir; up != "." && up != "/"; up = path.Dir(up) {
		if _, is := orbaxTemporary(path.Base(up)); is {
			p.torn = first(p.torn, up+" is unfinished")
		}
	}
}

// nameNumbered takes directories with a number for a name as named, of which a file says that they are checkpoints. Those above a
// named one, as of jobs, are none.
func (f *finder) nameNumbered() {
	above := map[string]bool{}
	for dir := range f.named {
		for up := path.Dir(dir); up != "." && up != "/" && !above[up]; up = path.Dir(up) {
			above[up] = true
		}
	}
	var numbered []string
	for dir := range f.told {
		if Numbered(dir) && !above[dir] && !f.within(path.Dir(dir), func(up string) bool { return f.told[up] && Numbered(up) }) {
			numbered = append(numbered, dir)
		}
	}
	for _, dir := range numbered {
		f.named[dir] = true
		f.inside[path.Dir(dir)]++
	}
}
