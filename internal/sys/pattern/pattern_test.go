package pattern_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

func TestNew(t *testing.T) {
	number := pattern.New(`^\d+$`)
	if !number().MatchString("12") || number().MatchString("x") || number() != number() {
		t.Error("it is not the expression, or is made twice")
	}
}
