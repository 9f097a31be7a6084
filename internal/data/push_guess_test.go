package data_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// guessed keeps what a push guesses of its keys.
type guessed struct {
	*storetest.Fake
	guesses <-chan string
}

func (g *guessed) ListAlong(ctx context.Context, prefix string, guesses <-chan string) iter.Seq2[store.Object, error] {
	g.guesses = guesses
	return g.List(ctx, prefix)
}

// TestPushGuessesKeys has a push tell its bucket where pages of the list may begin, while it meets the files.
func TestPushGuessesKeys(t *testing.T) {
	bucket := &guessed{Fake: &storetest.Fake{}}
	b := newBench(t, bucket)
	for i := range 2000 {
		b.write(fmt.Sprintf("%04d", i), "")
	}
	b.pushes()
	var got []string
	for range len(bucket.guesses) {
		got = append(got, <-bucket.guesses)
	}
	if want := []string{"set/0899", "set/1899"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
