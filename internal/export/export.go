// Package export mirrors finished files of a directory to a bucket, and fills a directory from a bucket: what a data
// repository association of FSx for Lustre does on AWS.
//
// Its laws: nothing temporary is exported; a pointer ("latest") never comes before the data that it names; after a
// round there is nothing left to plan until a file changes. There is no state file: what is done is read from the
// bucket (size, modification time and SHA-256 of each object) and from the directory, so a kill at any moment costs
// only the round.
//
//	Scan, Objects (look)  ->  Decide  ->  Apply
package export

import (
	"context"
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// Rule ties a directory to the keys of a bucket that begin with a prefix.
type Rule struct {
	Dir     string
	Mount   string // where the cluster's machines see the directory; "" if nobody knows
	Bucket  string
	Prefix  string // "" or "some/path"; files are below it
	New     bool   // export files that the bucket lacks
	Changed bool   // export files that differ from their objects
	Deleted bool   // delete objects whose files are gone
}

// Pace says how long to wait for files that are being written.
type Pace struct {
	Settle   time.Duration // a file untouched for so long is finished even if it was never seen before
	LogEvery time.Duration // a growing log is exported again after so long at the earliest
}

// DefaultPace suits a look every few seconds.
var DefaultPace = Pace{Settle: 5 * time.Second, LogEvery: 10 * time.Second}

// Mirror keeps a bucket like a directory, round by round. It remembers only what spares it work. Not for use by more
// than one goroutine.
type Mirror struct {
	Rule  Rule
	Pace  Pace
	Store store.Store

	before  *Tree
	objects map[string]store.Object
}

// Round looks, decides and acts once. After an error the next round makes up for it.
func (m *Mirror) Round(ctx context.Context, now time.Time) (Result, error) {
	tree, err := Scan(m.Rule)
	if err != nil {
		return Result{}, err
	}
	objects, err := Objects(ctx, m.Store, m.Rule.Prefix, m.objects)
	if err != nil {
		return Result{}, err
	}
	plan := Decide(State{Rule: m.Rule, Pace: m.Pace, Time: now, Tree: tree, Before: m.before, Objects: objects})
	result, err := Apply(ctx, plan, m.Rule.Dir, m.Store)
	maps.Copy(objects, result.Objects)
	m.before, m.objects = &tree, objects
	return result, err
}
