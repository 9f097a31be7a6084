package remains_test

import (
	"testing"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/remains"
)

func TestANewAccountHasNothing(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	if all, err := remains.Of(t.Context(), c.Config()); err != nil || len(all) > 0 {
		t.Errorf("got %q, %v", all, err)
	}
}
