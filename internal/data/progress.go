// Package data keeps datasets in buckets: directories whose files are plain objects below
// a prefix, with a manifest that is put last. A dataset is whole or it is not there.
package data

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Progress is how far a command is: told by many goroutines, looked at by one. All its
// methods but Look do nothing for nil.
type Progress struct {
	files, bytes, ofFiles, ofBytes atomic.Int64
	counted                        atomic.Bool

	// mu guards what follows.
	mu      sync.Mutex
	phase   string
	notices []string
	// more are notices beyond those that are kept.
	more int
}

// Step is how far it was when somebody looked.
type Step struct {
	// Phase is what is done now: "send", "compare".
	Phase string
	// Files and Bytes are done, of OfFiles and OfBytes as far as these are known.
	Files, Bytes, OfFiles, OfBytes int64
	// Counted says that all that is to be done is known.
	Counted bool
	// Notices are those since somebody looked last.
	Notices []string
}

// Begin begins a phase. Its counts begin at zero.
func (p *Progress) Begin(phase string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = phase
	p.counted.Store(false)
	for _, n := range []*atomic.Int64{&p.files, &p.bytes, &p.ofFiles, &p.ofBytes} {
		n.Store(0)
	}
}

// Expect adds to what is to be done.
func (p *Progress) Expect(files, bytes int64) {
	if p != nil {
		p.ofFiles.Add(files)
		p.ofBytes.Add(bytes)
	}
}

// Counted says that nothing more is expected.
func (p *Progress) Counted() {
	if p != nil {
		p.counted.Store(true)
	}
}

// Move adds to the bytes that are done, less than none if some have to go again. It is a
// store.Upload's Sent.
func (p *Progress) Move(bytes int64) {
	if p != nil {
		p.bytes.Add(bytes)
	}
}

// Done adds to the files that are done.
func (p *Progress) Done(files int64) {
	if p != nil {
		p.files.Add(files)
	}
}

// keptNotices is how many notices are kept for who looks next.
const keptNotices = 20

// Note says something beside the counts, such as a wait for a server that is away.
func (p *Progress) Note(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.notices) == keptNotices {
		p.more++
		return
	}
	p.notices = append(p.notices, fmt.Sprintf(format, args...))
}

// Look is how far it is, and takes the notices.
func (p *Progress) Look() Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Step{
		Phase: p.phase, Files: p.files.Load(), Bytes: p.bytes.Load(), OfFiles: p.ofFiles.Load(), OfBytes: p.ofBytes.Load(),
		Counted: p.counted.Load(), Notices: p.notices,
	}
	if p.more > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("and %d more such lines", p.more))
	}
	p.notices, p.more = nil, 0
	return s
}
