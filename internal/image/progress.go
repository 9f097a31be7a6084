package image

import (
	"os"
	"sync"
	"sync/atomic"
)

// Phase is what an import is doing.
type Phase string

// The phases, in order.
const (
	Looking Phase = "looking up the image"
	// Waiting is for another import of the same image.
	Waiting Phase = "waiting for another import"
	// Fetching is the layers, which are compressed anew while they come.
	Fetching Phase = "fetching layers"
	// Writing is the image's file.
	Writing Phase = "writing the image"
)

// Progress is how far an import is. Its zero value may be given to one, which
// changes it while others look.
type Progress struct {
	fetched atomic.Int64

	// mu guards what follows.
	mu    sync.Mutex
	phase Phase
	total int64
	out   *os.File
	told  []string
}

// Step is how far a phase is.
type Step struct {
	Phase Phase
	// Bytes are done of Total. A Total of 0 is not known.
	Bytes, Total int64
	// Notices are what there was to tell since the last look.
	Notices []string
}

// Look returns how far it is.
func (p *Progress) Look() Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Step{Phase: p.phase, Total: p.total, Notices: p.told}
	p.told = nil
	switch {
	case p.phase == Fetching:
		s.Bytes = p.fetched.Load()
	case p.out != nil:
		if info, err := p.out.Stat(); err == nil {
			s.Bytes = info.Size()
		}
		// The total is a guess: what the layers take in the cache.
		s.Bytes = min(s.Bytes, s.Total)
	}
	return s
}

func (p *Progress) begin(phase Phase, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.total, p.out = phase, total, nil
}

// write begins to write the image to a file, which is looked at until the phase
// is over.
func (p *Progress) write(out *os.File, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.total, p.out = Writing, total, out
}

func (p *Progress) tell(notice string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, notice)
}
