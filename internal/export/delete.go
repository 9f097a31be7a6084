package export

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

// deletes plans the end of objects whose files were missing in two looks. Pointers go before what they name.
func (d *decision) deletes() {
	if !d.Rule.Deleted || d.Before == nil {
		return
	}
	var gone []string
	for p, o := range d.Objects {
		if _, expires := d.expired(p); !expires && !d.Unclear[p] && !d.Tree.has(p) && !d.Before.has(p) && d.ours(p, o) {
			gone = append(gone, p)
		}
	}
	for _, p := range slices.SortedFunc(slices.Values(gone), byPointer) {
		if why := d.keep(p); why != "" {
			d.plan.Kept = append(d.plan.Kept, Wait{Path: p, Reason: why})
			continue
		}
		d.plan.Deletes = append(d.plan.Deletes, Step{Key: key(d.Rule.Prefix, p), File: File{Path: p}, Reason: "its file is gone"})
	}
}

// ours says that an object is of a file that was here: an export put it, or it is the one that was imported. One that
// is new in the bucket may be yet to come.
func (d *decision) ours(p string, o object) bool {
	if d.Known == nil {
		return own(o)
	}
	k, known := d.Known[p]
	return known && k.had(o)
}

func byPointer(a, b string) int {
	if x, y := pointerName(a), pointerName(b); x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

// keep says why an object without a file stays: the exported pointer may still name it, or all files are gone at once,
// which is how a lost mount looks.
func (d *decision) keep(p string) string {
	if len(d.Tree.Files) == 0 {
		return "the directory is empty"
	}
	for _, dir := range d.Tree.shut() {
		if below(p, dir) {
			return "its directory cannot be read"
		}
	}
	for _, w := range slices.Concat(d.plan.Waits, d.plan.Blocked) {
		if pointerName(w.Path) && below(p, path.Dir(w.Path)) {
			return fmt.Sprintf("the exported %s may name it", w.Path)
		}
	}
	return ""
}
