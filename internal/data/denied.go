package data

import (
	"errors"
	"sync/atomic"

	"github.com/muster-hpc/muster/internal/store"
)

// fewDenied are so many objects as may be denied before one is given. Where that is more, the caller has no right to any of them.
const fewDenied = 16

// denials tells an object that is denied, as for its key of KMS, from a place that denies all.
type denials struct{ given, denied atomic.Int64 }

// ofOne says whether an error is the denial of one object, while others are given.
func (d *denials) ofOne(err error) bool {
	if !errors.Is(err, store.ErrDenied) {
		return false
	}
	return d.denied.Add(1) <= fewDenied || d.given.Load() > 0
}
