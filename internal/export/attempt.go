package export

import (
	"errors"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// What failed is tried again after a while, which doubles each time.
const (
	firstAgain = 2 * time.Second
	lastAgain  = 5 * time.Minute
)

// Attempt is what is known of a file that could not be exported: it alone, while the place takes others.
type Attempt struct {
	File   File // as it was
	Reason string
	Tries  int
	Again  time.Time // not before
}

// next is the attempt after another one, the zero one if there was none.
func (a Attempt) next(f File, reason string, now time.Time) Attempt {
	wait := min(firstAgain<<min(a.Tries, 10), lastAgain)
	return Attempt{File: f, Reason: reason, Tries: a.Tries + 1, Again: now.Add(wait)}
}

// local is an error of a file of ours.
type local struct{ error }

func (l local) Unwrap() error { return l.error }

// ofTheFile says that an error is one of this file: others may do better.
func ofTheFile(err error) bool {
	var mine local
	return errors.As(err, &mine) || errors.Is(err, store.ErrRefused)
}
