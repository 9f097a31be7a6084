package source

import (
	"errors"
	"testing"
)

func TestNoImage(t *testing.T) {
	for want, names := range map[string][]string{
		"it has no image tag; there is none with a name: not found": nil,
		"it has no image tag; there is a, b: not found":             {"a", "b"},
	} {
		if err := noImage("tag", names); err.Error() != want || !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
}
