package container

import "errors"

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

func withHint(err error, hint string) error { return hinted{error: err, hint: hint} }

// Hint is what to do about an error; empty if it says so itself.
func Hint(err error) string {
	var h hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
