package test

import (
	"os"
	"strings"
	"testing"
)

// findsDamage: a bit that changes in an image that a step has saved is found.
func findsDamage(t *testing.T, c *cluster, path string) {
	t.Helper()
	if out := c.must("image", "verify", path); !strings.Contains(out, "sound") {
		t.Errorf("got %s", out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := c.run("image", "verify", path); r.code != 1 || !strings.Contains(r.stderr, "only a step with `--container-save` makes it again") {
		t.Errorf("of a damaged one: %+v", r)
	}
}
