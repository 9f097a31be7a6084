package data_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
)

func TestProgress(t *testing.T) {
	var p data.Progress
	p.Begin("look")
	p.Expect(9, 9)
	p.Counted()
	p.Begin("send")
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			p.Expect(2, 30)
			p.Done(1)
			p.Move(20)
			p.Move(-5)
			p.Note("a wait")
			p.Note("another")
			p.Note("a third")
		})
	}
	group.Wait()
	s := p.Look()
	if s.Phase != "send" || s.Files != 10 || s.OfFiles != 20 || s.Bytes != 150 || s.OfBytes != 300 || s.Counted {
		t.Errorf("got %+v", s)
	}
	if last := s.Notices[len(s.Notices)-1]; len(s.Notices) != 21 || last != "and 10 more such lines" {
		t.Errorf("got %d notices: %s", len(s.Notices), strings.Join(s.Notices, "\n"))
	}
	p.Counted()
	if s := p.Look(); len(s.Notices) != 0 || !s.Counted {
		t.Errorf("got %+v", s)
	}
}

// TestProgress_nil holds that callers need none.
func TestProgress_nil(*testing.T) {
	var p *data.Progress
	p.Begin("send")
	p.Expect(1, 1)
	p.Counted()
	p.Move(1)
	p.Done(1)
	p.Note("x")
}
