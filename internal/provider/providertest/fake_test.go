package providertest_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
)

func TestFake(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Place {
		f := providertest.New("a-1", "a-2", "b-1")
		return providertest.Place{
			Provider: f, Nodes: []string{"a-1", "a-2", "b-1"},
			Kill: func(t *testing.T, node string) {
				if !f.Kill(node) {
					t.Errorf("%s has no instance", node)
				}
			},
			Again: func(*testing.T) provider.Provider { return f.Again() },
		}
	})
}
