package source

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// patience is how long we wait at most for a registry that asks for it.
const patience = 5 * time.Minute

// busy is an error of a registry that wants to be left alone for a while, 0 if it does
// not say for how long.
type busy struct {
	error
	wait time.Duration
}

func (b busy) Unwrap() error { return b.error }

// late is a busy that we do not wait for.
type late busy

func (l late) Error() string {
	return fmt.Sprintf("%v; it asks us to come back in %s", l.error, l.wait)
}

func (l late) Unwrap() error { return l.error }

// asBusy reads an answer that is an error: does it ask us to come later?
func asBusy(resp *http.Response, now time.Time, err error) error {
	said := resp.Header.Get("Retry-After")
	if resp.StatusCode != http.StatusTooManyRequests && (resp.StatusCode != http.StatusServiceUnavailable || said == "") {
		return err
	}
	b := busy{error: err}
	if seconds, err := strconv.Atoi(said); err == nil && seconds > 0 {
		b.wait = time.Duration(min(seconds, 1<<30)) * time.Second
	} else if at, err := http.ParseTime(said); err == nil {
		b.wait = max(at.Sub(now), 0)
	}
	return b
}

// cost is what a failure counts of maxTries: two for a registry that was silent, since
// that has taken long already.
func cost(err error) int {
	var slow interface{ Timeout() bool }
	if errors.As(err, &slow) && slow.Timeout() {
		return 2
	}
	return 1
}

// pause is how long to wait after so many failures, or why there is no use in that.
func (o Options) pause(tries int, err error) (time.Duration, error) {
	wait := o.retryWait() << (tries - 1)
	b, ok := errors.AsType[busy](err)
	switch {
	case !ok:
		return wait, nil
	case b.wait > patience:
		return 0, permanent{late(b)}
	case b.wait == 0:
		wait *= 8 // limits are mostly for a minute
	}
	wait = max(wait, b.wait)
	if wait >= 5*time.Second {
		o.notice("the registry has had too many requests from here and is asked again in %s", wait)
	}
	return wait, nil
}

// silence is the error of a body that gives no byte for too long.
type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("no byte for %s", time.Duration(s)) }

// Timeout tells cost.
func (s silence) Timeout() bool { return true }
