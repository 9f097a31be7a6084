package heed

import (
	"context"
	"errors"
	"testing"
)

func TestCall(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	done, told := errors.New("done"), errors.New("told to stop")
	if err := Call(ctx, func() error { return done }); err != done {
		t.Errorf("got %v, want what do returns", err)
	}
	for _, when := range []string{"while do waits", "before"} {
		never := make(chan struct{})
		if err := Call(ctx, func() error { stop(told); <-never; return nil }); err != told {
			t.Errorf("the context ends %s: got %v, want its cause", when, err)
		}
	}
}
