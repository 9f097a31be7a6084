package ram_test

import (
	"os"
	"testing"

	"github.com/muster-hpc/muster/test/ram"
)

func TestDir(t *testing.T) {
	var first, second string
	t.Run("there", func(t *testing.T) {
		first, second = ram.Dir(t), ram.Dir(t)
		for _, dir := range []string{first, second} {
			if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		if first == second {
			t.Errorf("twice %s", first)
		}
	})
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s after the test: %v", dir, err)
		}
	}
}
