package probe

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// sampleRate is how often in a second a rank's program is looked at, samplesLeast how many looks say where it is.
	sampleRate   = 25
	samplesLeast = 20
	// placeWait is how long py-spy may take to begin, and to look for the window's time.
	placeWait  = window + 8*time.Second
	placeBytes = 4 << 10
)

// places are where the programs of ranks are that are at one place in their code for the whole window, by number. Those that
// move, and those of which nobody knows, have none.
func places(ctx context.Context, proc string, all []seen) map[int]string {
	ctx, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	found := map[int]string{}
	var mu sync.Mutex // guards found
	var sampling sync.WaitGroup
	for _, s := range all {
		if s.part != Leader || !s.python {
			continue
		}
		sampling.Go(func() {
			out, err := spy(ctx, proc, s, "record", "--nonblocking", "--idle", "--threads", "--format", "raw", "--output", "/dev/stdout",
				"--rate", strconv.Itoa(sampleRate), "--duration", strconv.Itoa(int(window/time.Second)))
			if err != nil {
				return // the stack says why
			}
			mu.Lock()
			found[s.pid] = place(out)
			mu.Unlock()
		})
	}
	sampling.Wait()
	return found
}

// place is where the main thread was in all samples, innermost first, "" if it was at several places. Lines are such as
//
//	thread (4711): MainThread;<module> (train.py:90);step (train.py:33) 49
func place(raw []byte) string {
	at, samples := "", 0
	for line := range bytes.Lines(raw) {
		head, rest, ok := strings.Cut(strings.TrimSpace(string(line)), ": MainThread;")
		if !ok || !strings.HasPrefix(head, "thread (") {
			continue
		}
		end := strings.LastIndexByte(rest, ' ')
		n, err := strconv.Atoi(rest[end+1:])
		if err != nil || end < 0 || at != "" && at != rest[:end] {
			return ""
		}
		at, samples = rest[:end], samples+n
	}
	if samples < samplesLeast || len(at) > placeBytes {
		return ""
	}
	frames := strings.Split(strings.ToValidUTF8(at, "?"), ";")
	slices.Reverse(frames)
	return strings.Join(frames, "; ")
}
