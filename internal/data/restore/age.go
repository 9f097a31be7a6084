package restore

import (
	"path"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// ages are when the last part of a checkpoint came that is right in a directory.
type ages map[string]time.Time

func (a ages) add(p string, at time.Time) {
	if dir := path.Dir(p); checkpoint.Part(p) && at.After(a[dir]) {
		a[dir] = at
	}
}

// dateCandidates gives directories the time of the last part below them.
func (a ages) dateCandidates(all []*candidate) {
	dirs := make(map[string]*candidate, len(all))
	for _, c := range all {
		dirs[c.dir] = c
	}
	for dir, at := range a {
		for ; dirs[dir] == nil && dir != "." && dir != "/"; dir = path.Dir(dir) {
		}
		if c := dirs[dir]; c != nil && at.After(c.at) {
			c.at = at
		}
	}
}
