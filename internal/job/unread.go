package job

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// UnreadAfter is after how much time with output, and no line of progress in it, a user is told.
const UnreadAfter = 2 * time.Minute

// mostGuesses is how many lines a user is shown that may be progress.
const mostGuesses = 3

// Unread is output in which no line of progress is known.
type Unread struct {
	// Lines are those that may be progress, the likeliest first, each with a pattern that reads it.
	Lines []trainlog.Guess `json:"lines"`
	// Pattern is the job's own, which matches no line.
	Pattern string `json:"pattern,omitempty"`
}

// ReadUnread reads the end of a started job's output: nil if there is a line of progress in it, or nothing at all. pattern is
// the job's own; empty is none.
func ReadUnread(j slurm.Job, pattern string) (*Unread, error) {
	var output [][]byte
	for _, path := range Logs(j) {
		tail, _, err := readTail(path, j.UID, tailSize)
		if err != nil {
			return nil, err
		}
		output = append(output, tail)
	}
	return unreadIn(output, pattern), nil
}

func unreadIn(output [][]byte, pattern string) *Unread {
	own, _ := trainlog.Compile(pattern)
	if pattern == "" {
		own = nil
	}
	for _, text := range output {
		r := trainlog.Reader{Pattern: own}
		if len(append(r.Feed(text).Samples, r.End().Samples...)) > 0 || r.Pending() {
			return nil
		}
	}
	all := bytes.Join(output, []byte("\n"))
	if len(bytes.TrimSpace(all)) == 0 {
		return nil
	}
	u := &Unread{Lines: trainlog.Guesses(all, mostGuesses)}
	if own != nil {
		u.Pattern = pattern
	}
	return u
}

// Unheard watches what a job writes while its user follows it. The zero value waits for the first byte. It is for one goroutine at a time.
type Unheard struct {
	began time.Time
	over  bool // a line of progress came, or the user was told
	files map[string]*heard
}

// heard is one of a job's files.
type heard struct {
	reader trainlog.Reader
	end    []byte
}

// keptEnd is how much of a file's end is kept, in bytes.
const keptEnd = 64 << 10

// Hear takes what was written to a file.
func (u *Unheard) Hear(file string, text []byte, now time.Time) {
	if u.over || len(text) == 0 {
		return
	}
	if u.began.IsZero() {
		u.began, u.files = now, map[string]*heard{}
	}
	h := u.files[file]
	if h == nil {
		h = &heard{}
		u.files[file] = h
	}
	if len(h.reader.Feed(text).Samples) > 0 {
		u.over, u.files = true, nil
		return
	}
	h.end = append(h.end, text[max(0, len(text)-keptEnd):]...)
	h.end = append(h.end[:0], h.end[max(0, len(h.end)-keptEnd):]...)
}

// Tell returns what a user is to be told, once: that there has been output for a while, and no line of progress. pattern says the
// job's own; it is asked if it matters.
func (u *Unheard) Tell(now time.Time, pattern func() string) *Unread {
	if u.over || u.began.IsZero() || now.Sub(u.began) < UnreadAfter {
		return nil
	}
	var output [][]byte
	for _, file := range slices.Sorted(maps.Keys(u.files)) {
		if u.files[file].reader.Pending() {
			return nil
		}
		output = append(output, u.files[file].end)
	}
	u.over, u.files = true, nil
	return unreadIn(output, pattern())
}
