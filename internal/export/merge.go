package export

import (
	"maps"
	"slices"
	"strings"
)

// Policy says which changes of the bucket are made in the directory, as AutoImportPolicy and
// BatchImportMetaDataOnCreate of a data repository association of FSx for Lustre do
// (https://docs.aws.amazon.com/fsx/latest/LustreGuide/autoimport-data-repo-dra.html).
type Policy struct {
	Initial bool // all that the bucket has when the link is made
	New     bool // objects that come, or change, and have no file
	Changed bool // objects that change and have a file
	Deleted bool // objects that go
}

func (p Policy) any() bool { return p != Policy{} }

// merging is a decision about the bucket's side.
type merging struct {
	Rule    Rule
	Tree    Tree
	Objects map[string]object // by path
	Known   map[string]Known  // when they were the same
	Sent    map[string]Known  // exports without an answer
	Unclear map[string]bool   // objects that are still to be looked at
	Full    bool              // the bucket's first content was looked at

	plan mergePlan
}

// mergePlan is what to do in the directory.
type mergePlan struct {
	Fetch  []fetch
	Remove []File
	Same   map[string]Known // to remember, without doing anything
	Forget []string
	Both   []string // changed here and in the bucket: the file stays
}

// fetch is an object to bring.
type fetch struct {
	Path   string
	Object object
	Over   *File // what it replaces; nil if there is no file
}

// merge says what of the bucket is to be made in the directory. It is pure. Its laws: a file that was changed here and
// not exported is neither replaced nor deleted, unless nothing of the directory is ever exported; a file that was
// deleted here does not come back until its object changes.
func merge(m merging) mergePlan {
	m.plan.Same = map[string]Known{}
	for p, o := range m.Objects {
		if p != "" && !m.Unclear[p] { // else a marker of the directory itself
			m.object(p, o)
		}
	}
	for p, k := range m.Known {
		if _, there := m.Objects[p]; !there {
			m.gone(p, k)
		}
	}
	slices.SortFunc(m.plan.Fetch, func(a, b fetch) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(m.plan.Both)
	return m.plan
}

// object decides on an object, with its file or without.
func (m *merging) object(p string, o object) {
	k, known := m.Known[p]
	if sent, ok := m.Sent[p]; ok && own(o) && sent.SizeBytes == o.SizeBytes && sent.ModTime == o.ModTime {
		k, known = Known{Version: o.Version, SizeBytes: sent.SizeBytes, ModTime: sent.ModTime}, true // the rest follows
	}
	f, here := m.find(p)
	switch {
	case known && k.is(o): // nothing happened in the bucket
		k.Modified = o.seconds()
		if o.Sum != unasked && k.SizeBytes >= 0 {
			k.Inode, k.Change = o.tells(m.Tree.home)
		}
		m.same(p, k)
	case !here && m.wanted(known):
		m.plan.Fetch = append(m.plan.Fetch, fetch{Path: p, Object: o})
	case !here:
		m.same(p, unwantedObject(o))
	case alike(f, o):
		m.same(p, agreement(f, o))
	default:
		m.differ(f, o, known && k.holds(f))
	}
}

// wanted says that an object without a file is to come. At first, that is all there is; later, what is new.
func (m *merging) wanted(known bool) bool {
	if m.Full || known {
		return m.Rule.Import.New
	}
	return m.Rule.Import.Initial
}

// differ decides on a file and an object that differ, where the object is new or changed.
func (m *merging) differ(f File, o object, untouched bool) {
	switch {
	case untouched && !m.Rule.Import.Changed:
		m.same(f.Path, agreement(f, o)) // as far as the policy goes
	case m.Rule.Import.Changed && (untouched || m.Full && !m.Rule.exports()):
		m.plan.Fetch = append(m.plan.Fetch, fetch{f.Path, o, &f})
	case m.Rule.Import.Changed:
		m.plan.Both = append(m.plan.Both, f.Path)
		fallthrough
	default: // the object counts as seen: it comes if it changes again
		m.same(f.Path, unwantedObject(o))
	}
}

// same notes that a file and its object are the same, if that is not known yet.
func (m *merging) same(p string, k Known) {
	if old, ok := m.Known[p]; !ok || old != k {
		m.plan.Same[p] = k
	}
}

// find is the file of a path, or the directory of a marker's.
func (m *merging) find(p string) (File, bool) {
	dir, marker := strings.CutSuffix(p, "/")
	if !marker {
		return m.Tree.file(p)
	}
	_, ok := m.Tree.Dirs[dir]
	return File{Path: p}, ok
}

// alike says that a file and an object are the same for sure, so that the one may be lost without the other.
func alike(f File, o object) bool {
	if own(o) || f.Link != "" {
		return exported(f, o)
	}
	return f.SizeBytes == o.SizeBytes && int64(f.ModTime) == o.Modified
}

// gone decides on a path whose object is not there any more. If there is no object at all, the bucket was lost rather
// than emptied: the files stay, and are exported again.
func (m *merging) gone(p string, k Known) {
	f, here := m.Tree.file(p)
	if here && m.Rule.Import.Deleted && len(m.Objects) > 0 && k.holds(f) {
		m.plan.Remove = append(m.plan.Remove, f)
		return
	}
	m.plan.Forget = append(m.plan.Forget, p)
}

// remember records the decisions that need no action.
func (p mergePlan) remember(r *Record) {
	for _, path := range slices.Sorted(maps.Keys(p.Same)) {
		r.agree(path, p.Same[path])
	}
	for _, path := range p.Forget {
		r.forget(path)
	}
}
