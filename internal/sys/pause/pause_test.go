package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

func TestFor(t *testing.T) {
	why := errors.New("enough")
	for _, row := range []struct {
		name         string
		wait, enough time.Duration
		took         time.Duration
		err          error
	}{
		{"whole", time.Minute, time.Hour, time.Minute, nil},
		{"cut_short", time.Hour, time.Minute, time.Minute, why},
		{"nothing", 0, time.Hour, 0, nil},
		{"less_than_nothing", -time.Second, time.Hour, 0, nil},
		{"nothing_at_the_end", 0, 0, 0, why},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), row.enough, why)
				defer cancel()
				began := time.Now()
				if err := pause.For(ctx, row.wait); !errors.Is(err, row.err) {
					t.Errorf("got %v, want %v", err, row.err)
				}
				if took := time.Since(began); took != row.took {
					t.Errorf("it took %v, want %v", took, row.took)
				}
			})
		})
	}
}
