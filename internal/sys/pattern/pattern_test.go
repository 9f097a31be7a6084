package pattern_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

func TestNew(t *testing.T) {
	number := pattern.New(`^\d+$`)
	first, second := number(), number()
	if !first.MatchString("12") || first.MatchString("x") || first != second {
		t.Error("it is not the expression, or is made twice")
	}
}
