package controller

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/export"
)

// ExportStatus is what is known of one association.
type ExportStatus struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	Export bool   `json:"export"`
	Import bool   `json:"import"`
	// Pending is how many files wait to be exported, those that cannot be exported
	// among them, at this moment; PendingBytes is what of them is still to be sent.
	Pending      int   `json:"pending"`
	PendingBytes int64 `json:"pending_bytes"`
	// PendingUnknown says that the bucket or the directory could not be looked at:
	// Pending is only what is known of.
	PendingUnknown bool `json:"pending_unknown,omitempty"`
	// Waiting are the first of the files that will be exported.
	Waiting []WaitingFile `json:"waiting,omitempty"`
	// Blocked is how many files cannot be exported, BlockedFiles the first of them.
	Blocked      int           `json:"blocked"`
	BlockedFiles []WaitingFile `json:"blocked_files,omitempty"`
	// Uploading are the files that are being sent now.
	Uploading []Uploading `json:"uploading,omitempty"`
	// SentBytes is what was sent since the controller started.
	SentBytes int64 `json:"sent_bytes"`
	// Progress grows whenever anything moves.
	Progress int64 `json:"progress"`
	// LastSuccess is when the bucket was last brought up to date, but for the files
	// that cannot be exported.
	LastSuccess time.Time `json:"last_success,omitzero"`
	// Exported and Imported count the files that this controller has copied.
	Exported int       `json:"exported"`
	Imported int       `json:"imported"`
	Removed  int       `json:"removed,omitempty"` // files that went because their objects did
	LastLook time.Time `json:"last_look,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// WaitingFile is a file that is not in the bucket as it is, and why.
type WaitingFile struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Reason    string `json:"reason"`
}

// Uploading is a file on its way to the bucket.
type Uploading struct {
	Path      string    `json:"path"`
	SizeBytes int64     `json:"size_bytes"`
	SentBytes int64     `json:"sent_bytes"`
	Since     time.Time `json:"since"`
}

// namedAtMost is how many of the files that cannot be exported are named.
const namedAtMost = 10

// peekEvery is how often a directory is looked at because somebody asks.
const peekEvery = 2 * time.Second

// Status is what is known of every association, by path.
func (e *Exports) Status() []ExportStatus {
	all := make([]ExportStatus, len(e.links))
	for i, l := range e.links {
		all[i] = l.now()
	}
	slices.SortFunc(all, func(a, b ExportStatus) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// now is how an association stands at this moment, whatever its round is at.
func (l *link) now() ExportStatus {
	l.state.Lock()
	s := l.status
	look := l.exports() && time.Since(l.peeked) >= peekEvery
	if look {
		l.peeked = time.Now()
	}
	l.state.Unlock()
	if !l.exports() {
		return s
	}
	if look {
		if err := l.mirror.Peek(); err != nil && s.Error == "" {
			s.Error = err.Error()
		}
	}
	p := l.mirror.Track.Progress()
	s.Pending, s.PendingBytes, s.SentBytes, s.Progress, s.LastSuccess = p.Files, p.Bytes, p.Sent, p.Moved, p.Success
	s.Exported = p.Exported
	s.PendingUnknown = p.Unknown
	s.Waiting = named(p.Waiting)
	s.Blocked, s.BlockedFiles = len(p.Blocked), named(p.Blocked[:min(namedAtMost, len(p.Blocked))])
	for _, u := range p.Sending {
		s.Uploading = append(s.Uploading, Uploading{printableName(u.Path), u.SizeBytes, u.SentBytes, u.Since})
	}
	return s
}

func named(waits []export.Wait) []WaitingFile {
	var all []WaitingFile
	for _, w := range waits {
		all = append(all, WaitingFile{printableName(w.Path), w.SizeBytes, w.Reason})
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
