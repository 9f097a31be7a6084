package slurm

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReleaseAt: a job that is to wait gets its time before it is let go, since it may start at once then.
func TestReleaseAt(t *testing.T) {
	for name, row := range map[string]struct {
		after time.Duration
		want  []string
	}{
		"later":   {5 * time.Minute, []string{"scontrol update JobId=7 StartTime=now+300", "scontrol release 7"}},
		"at_once": {0, []string{"scontrol release 7"}},
		"past":    {-time.Hour, []string{"scontrol release 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &programs{}
				if err := (Client{Runner: p}).ReleaseAt(t.Context(), "7", time.Now().Add(row.after)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(row.want, p.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
