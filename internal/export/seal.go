package export

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// sealed says that a file of the checkpoint is one that says that it is whole.
func (c *saved) sealed(p string) bool {
	return slices.Contains(c.seals, strings.TrimPrefix(p, c.dir+"/"))
}

// seal plans the files that say of a checkpoint that it is whole right behind the last of its others: in the bucket they
// say so, too.
func (d *decision) seal(c *saved) {
	for n, name := range c.seals {
		p := path.Join(c.dir, name)
		s, ok := d.sealing[p]
		if !ok {
			continue
		}
		stand, reason := d.ready(c, c.seals[n:], &s)
		switch stand {
		case waiting:
			d.wait(s.File, reason)
		case blocked:
			d.block(s.File, reason)
		default:
			d.held = append(d.held, s)
		}
		if i, ok := d.Tree.index(p); ok {
			d.stands[i] = stand
		}
	}
}

// reseal plans a file that says that a checkpoint is whole once more if another one came after it: whoever reads the bucket
// takes that for one that is being sent again.
func (d *decision) reseal(c *saved) {
	if !d.Rule.New && !d.Rule.Changed || d.lastPart(c) == 0 {
		return
	}
	if d.judgeWhole(c); !c.whole {
		return
	}
	last := d.lastPart(c) // without the seals, which are known now
	for _, name := range c.seals {
		i, ok := d.Tree.index(path.Join(c.dir, name))
		if !ok || d.stands[i] != done {
			continue
		}
		f := d.Tree.Files[i]
		if o := d.Objects[f.Path]; own(o) && exported(f, o) && o.seconds() < last {
			d.stands[i] = planned
			d.put(d.step(f, "a file of its checkpoint came after it"))
		}
	}
}

// lastPart is when the last of a checkpoint's files came that do not say that it is whole.
func (d *decision) lastPart(c *saved) int64 {
	last := int64(0)
	for _, f := range d.parts(c) {
		if o, have := d.Objects[f.Path]; have && own(o) && !c.sealed(f.Path) {
			last = max(last, o.seconds())
		}
	}
	return last
}

// ready says whether all files of a checkpoint but the last ones are there, or come in this round before a seal.
func (d *decision) ready(c *saved, last []string, s *Step) (standing, string) {
	s.Needs = []string{}
	for i, f := range d.parts(c) {
		if slices.ContainsFunc(last, func(name string) bool { return path.Join(c.dir, name) == f.Path }) {
			continue
		}
		switch d.stands[i] {
		case waiting:
			return waiting, fmt.Sprintf("it waits for %s", f.Path)
		case blocked:
			return blocked, fmt.Sprintf("it waits for %s, which cannot be exported", f.Path)
		case planned:
			s.Needs = append(s.Needs, d.key(f))
		}
	}
	return planned, ""
}
