package aws

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestStory is `make demo-aws`: the life of a cluster whose machines boot, by the
// commands of a user. The program itself checks every part of it.
func TestStory(t *testing.T) {
	t.Parallel()
	needMachines(t)
	needMoto(t)
	muster, cloud := program(t, "muster"), program(t, "muster-cloud")
	out, err := run(t.Context(), 8*time.Minute, func(ctx context.Context) *exec.Cmd {
		c := exec.CommandContext(ctx, cloud, "demo", muster, filepath.Join("..", "cloud", "demo"))
		return c
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
