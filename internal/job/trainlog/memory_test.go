package trainlog_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// next is a reader that goes on where another one was, with what that one knew, written down in between.
func next(t *testing.T, r *trainlog.Reader) *trainlog.Reader {
	t.Helper()
	text, err := json.Marshal(r.Memory())
	if err != nil {
		t.Fatal(err)
	}
	var m *trainlog.Memory
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return &trainlog.Reader{From: r.Next(), Knows: m}
}

// However often a reader is followed by another, they find what one finds.
func TestMemory(t *testing.T) {
	log := recorded(t)
	want := read(string(log))
	random := rand.New(rand.NewPCG(1, 3))
	for range 30 {
		most := 1 + random.IntN(3000)
		var got trainlog.Found
		add := func(f trainlog.Found) {
			got.Samples, got.Signs = append(got.Samples, f.Samples...), append(got.Signs, f.Signs...)
		}
		r := &trainlog.Reader{}
		for rest := log; len(rest) > 0; r = next(t, r) {
			n := min(len(rest), 1+random.IntN(most))
			add(r.Feed(rest[:n]))
			rest = rest[n:]
		}
		add(r.End())
		if diff := cmp.Diff(want, got, sameValue); diff != "" {
			t.Fatalf("in pieces of up to %d bytes (-want +got):\n%s", most, diff)
		}
	}
}

// What a reader remembers of any log is bounded.
func TestMemoryIsSmall(t *testing.T) {
	var r trainlog.Reader
	for i := range 200 {
		r.Feed(slices.Concat([]byte{byte('0' + i%10)}, []byte(": Traceback (most recent call last):\nFailures:\n"), make([]byte, 100_000)))
	}
	text, err := json.Marshal(r.Memory())
	if err != nil || len(text) > 1<<19 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
