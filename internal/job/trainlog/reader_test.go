package trainlog_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// read reads a log in one piece.
func read(text string) trainlog.Found {
	var r trainlog.Reader
	found, rest := r.Feed([]byte(text)), r.End()
	return trainlog.Found{Samples: append(found.Samples, rest.Samples...), Signs: append(found.Signs, rest.Signs...)}
}

func some(f float64) trainlog.Value { return trainlog.Some(f) }

// sameValue compares values: NaN is NaN.
var sameValue = cmp.Comparer(func(a, b trainlog.Value) bool {
	return a == b || a.Known && b.Known && math.IsNaN(a.Float) && math.IsNaN(b.Float)
})

// sampleRow is a log and what it says, but for where it says so.
type sampleRow struct {
	name, text string
	want       []trainlog.Sample
}

func checkSamples(t *testing.T, rows []sampleRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := read(row.text).Samples
			for i := range got {
				got[i].Place = trainlog.Place{}
			}
			if diff := cmp.Diff(row.want, got, sameValue); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}
