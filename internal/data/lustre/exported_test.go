package lustre_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/data/lustre"
)

func TestExported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, a := shelf(t)
		c := lustre.Client{Run: a.run}
		e, err := c.Exported(t.Context(), dir)
		if err != nil || e.Files != 8 || len(e.Waiting) != 1 || e.Waiting[0] != filepath.Join(dir, "new") || len(e.Failed) != 2 {
			t.Fatalf("got %+v, %v", e, err)
		}
		looks := 0
		c.Run = func(ctx context.Context, args ...string) (string, string, error) {
			if looks++; looks == 3 {
				a.states[filepath.Join(dir, "new")] = 0x09
			}
			return a.run(ctx, args...)
		}
		if e, err = c.AwaitExported(t.Context(), e, time.Minute); err != nil || len(e.Waiting) != 0 || looks != 3 {
			t.Errorf("after %d looks %+v, %v", looks, e, err)
		}
	})
}
