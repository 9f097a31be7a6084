package trainlog_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// inPieces reads a log in pieces of up to so many bytes.
func inPieces(r *trainlog.Reader, log []byte, random *rand.Rand, most int) trainlog.Found {
	var all trainlog.Found
	add := func(f trainlog.Found) {
		all.Samples, all.Signs = append(all.Samples, f.Samples...), append(all.Signs, f.Signs...)
	}
	for len(log) > 0 {
		n := min(len(log), 1+random.IntN(most))
		piece := bytes.Clone(log[:n])
		add(r.Feed(piece))
		clear(piece) // a reader keeps nothing of what it was fed
		log = log[n:]
	}
	add(r.End())
	return all
}

// recorded is all of testdata's logs, in one.
func recorded(t testing.TB) []byte {
	t.Helper()
	logs, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs in testdata: %v", err)
	}
	var all []byte
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

func TestPiecesMakeNoDifference(t *testing.T) {
	log := recorded(t)
	want := read(string(log))
	if len(want.Samples) < 50 || len(want.Signs) < 50 {
		t.Fatalf("only %d samples and %d signs", len(want.Samples), len(want.Signs))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		got := inPieces(&trainlog.Reader{}, log, random, 1+random.IntN(300))
		if diff := cmp.Diff(want, got, sameValue); diff != "" {
			t.Fatalf("pieces make a difference (-want +got):\n%s", diff)
		}
	}
}

// A reader that goes on where another one's Next was finds what is left, but for blocks that were cut.
func TestGoOn(t *testing.T) {
	line := "0: Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n"
	log := []byte(strings.Repeat(line, 20))
	for cut := range log {
		var first trainlog.Reader
		before := first.Feed(log[:cut])
		second := trainlog.Reader{From: first.Next()}
		after := second.Feed(log[first.Next().Offset:])
		if n := len(before.Samples) + len(after.Samples); n != 20 {
			t.Fatalf("cut at %d: %d samples", cut, n)
		}
		for i, s := range append(before.Samples, after.Samples...) {
			if want := (trainlog.Place{Line: int64(i + 1), Offset: int64(i * len(line))}); s.Place != want {
				t.Fatalf("cut at %d: sample %d is at %+v, want %+v", cut, i, s.Place, want)
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const pieces, size = 24, 1 << 20
	for name, piece := range map[string]string{
		"no_end_of_line":     strings.Repeat("x", size),
		"only_escapes":       strings.Repeat("\x1b[31m", size/5),
		"an_open_sequence":   strings.Repeat("\x1b]", size/2),
		"tracebacks":         strings.Repeat("Traceback (most recent call last):\n  File\n", size/42),
		"tables":             strings.Repeat("Failures:\n", size/10),
		"carriage_returns":   strings.Repeat("\r", size),
		"numbers":            strings.Repeat("9", size),
		"bars_without_end":   strings.Repeat("Epoch 0: 1%|", size/12),
		"warnings":           strings.Repeat("NCCL WARN\n", size/10),
		"dicts_without_ends": strings.Repeat("{'loss': ", size/9),
	} {
		t.Run(name, func(t *testing.T) {
			var r trainlog.Reader
			text := []byte(piece)
			var before, after runtime.MemStats
			r.Feed(text)
			runtime.GC()
			runtime.ReadMemStats(&before)
			for range pieces {
				r.Feed(text)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
				t.Errorf("the reader holds %d KiB more after %d MiB", grown>>10, pieces*size>>20)
			}
			runtime.KeepAlive(&r)
		})
	}
}

// Programs that fail may say so a million times.
func TestFloodsOfSigns(t *testing.T) {
	storm := strings.Repeat("NCCL WARN NET/OFI Request completed with error\n", 15000)
	quiet := strings.Repeat("\n", 10000)
	found := read(storm + "No space left on device\n" + quiet + storm).Signs
	count := map[trainlog.Kind]int{}
	for _, s := range found {
		count[s.Kind]++
	}
	if count[trainlog.NCCLWarning] != 2000 || count[trainlog.DiskFull] != 1 {
		t.Errorf("got %v", count)
	}
}

func FuzzReader(f *testing.F) {
	logs, _ := filepath.Glob("testdata/*.txt")
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint64(1))
	}
	pattern, err := trainlog.Compile(`(?P<step>\d+):.*loss.(?P<loss>\S+)`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, log []byte, seed uint64) {
		for _, p := range []*trainlog.Pattern{nil, pattern} {
			whole := trainlog.Reader{Pattern: p}
			found, rest := whole.Feed(log), whole.End()
			want := trainlog.Found{Samples: append(found.Samples, rest.Samples...), Signs: append(found.Signs, rest.Signs...)}
			got := inPieces(&trainlog.Reader{Pattern: p}, log, rand.New(rand.NewPCG(seed, 1)), 1+int(seed%97))
			if diff := cmp.Diff(want, got, sameValue); diff != "" {
				t.Fatalf("pieces make a difference (-want +got):\n%s", diff)
			}
			for _, s := range want.Samples {
				if s.Step < trainlog.NoStep || s.Steps < 0 || s.Place.Line < 1 || s.Format == "" {
					t.Errorf("a sample that cannot be: %+v", s)
				}
			}
			for _, s := range want.Signs {
				if s.Kind == "" || s.Text == "" || s.Place.Line < 1 || len(s.Text) > 1000 || strings.ContainsAny(s.Text, "\n\r\x1b") {
					t.Errorf("a sign that cannot be: %+v", s)
				}
			}
		}
	})
}
