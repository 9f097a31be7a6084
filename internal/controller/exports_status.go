package controller

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/export"
)

// namedAtMost is how many of the files that cannot be exported are named.
const namedAtMost = 10

// peekEvery is how often at most requests for the status look at a directory.
const peekEvery = 2 * time.Second

// Status is the state of every association, sorted by path.
func (e *Exports) Status() []client.ExportStatus { return e.each((*link).now) }

// Told is the state of every association as of the last looks of their rounds, which it does not add to: a look at very
// many files takes long.
func (e *Exports) Told() []client.ExportStatus { return e.each((*link).told) }

func (e *Exports) each(state func(*link) client.ExportStatus) []client.ExportStatus {
	all := make([]client.ExportStatus, len(e.links))
	for i, l := range e.links {
		all[i] = state(l)
	}
	slices.SortStableFunc(all, func(a, b client.ExportStatus) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// now is how an association stands at this moment, whatever its round is at.
func (l *link) now() client.ExportStatus {
	l.state.Lock()
	look := l.exports() && time.Since(l.peeked) >= peekEvery
	if look {
		l.peeked = time.Now()
	}
	l.state.Unlock()
	var err error
	if look {
		err = l.mirror.Peek()
	}
	s := l.told()
	if err != nil && s.Error == "" {
		s.Error = err.Error()
	}
	return s
}

// told is how an association stood when its round looked last, and what was sent since.
func (l *link) told() client.ExportStatus {
	l.state.Lock()
	s := l.status
	l.state.Unlock()
	if !l.exports() {
		return s
	}
	p := l.mirror.Track.Progress()
	s.Pending, s.PendingBytes, s.SentBytes, s.Progress, s.LastSuccess = p.Files, p.Bytes, p.Sent, p.Moved, p.Success
	s.Exported, s.WaitsSince = p.Exported, p.Since
	s.PendingUnknown = p.Unknown
	s.Waiting = named(p.Waiting)
	s.Blocked, s.BlockedFiles = len(p.Blocked), named(p.Blocked[:min(namedAtMost, len(p.Blocked))])
	for _, u := range p.Sending {
		s.Uploading = append(s.Uploading, client.Uploading{Path: printableName(u.Path), SizeBytes: u.SizeBytes, SentBytes: u.SentBytes, Since: u.Since})
	}
	return s
}

func named(waits []export.Wait) []client.WaitingFile {
	var all []client.WaitingFile
	for _, w := range waits {
		all = append(all, client.WaitingFile{Path: printableName(w.Path), SizeBytes: w.SizeBytes, Reason: w.Reason})
	}
	return all
}

// printableName is a file's name as JSON can carry it: bytes that are no UTF-8 are written as \xff.
func printableName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}
