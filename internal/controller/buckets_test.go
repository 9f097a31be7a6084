package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/store"
)

// stubborn is a bucket that cannot be made a number of times.
type stubborn struct {
	store.Store
	refusals, asked int
}

func (s *stubborn) MakeBucket(ctx context.Context) error {
	if s.asked++; s.asked <= s.refusals {
		return errors.New("no server")
	}
	return context.Cause(ctx)
}

func TestMakeBuckets_tries_until_all_are_there(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ready, late := &stubborn{}, &stubborn{refusals: 4}
		controller.MakeBuckets(t.Context(), map[string]store.Store{"ready": ready, "late": late}, slog.New(slog.NewTextHandler(&log, nil)))
		if ready.asked != 1 || late.asked != 5 {
			t.Errorf("asked %d and %d times, want 1 and 5", ready.asked, late.asked)
		}
		if n := strings.Count(log.String(), "no server"); n != 1 {
			t.Errorf("the log says %d times what is wrong, want 1:\n%s", n, &log)
		}
	})
}

func TestMakeBuckets_ends_with_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		never := &stubborn{refusals: 1 << 30}
		done := make(chan struct{})
		go func() {
			controller.MakeBuckets(ctx, map[string]store.Store{"never": never}, slog.New(slog.DiscardHandler))
			close(done)
		}()
		synctest.Wait()
		cancel()
		<-done
	})
}
