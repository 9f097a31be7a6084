package data

import (
	"fmt"
	"iter"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// merge brings four sorted streams together.
type merge struct {
	walk      stream[walk.File]
	committed stream[manifest.Record]
	noted     stream[note]
	objects   stream[store.Object]
}

func openMerge(s sources) *merge {
	return &merge{
		walk:      open(s.walk, func(f walk.File) string { return f.Path }),
		committed: open(s.committed, func(r manifest.Record) string { return r.Path }),
		noted:     open(s.noted, func(n note) string { return n.Path }),
		objects:   open(s.objects, func(o store.Object) string { return o.Key }),
	}
}

func (m *merge) stop() {
	m.walk.stop()
	m.committed.stop()
	m.noted.stop()
	m.objects.stop()
}

// next is what is known of the next path, which is empty after the last one.
func (m *merge) next() (sight, error) {
	for _, s := range []interface{ failed() error }{&m.committed, &m.noted, &m.objects} {
		if err := s.failed(); err != nil {
			return sight{}, err
		}
	}
	if err := m.walk.failed(); err != nil && m.walk.path == "" {
		return sight{}, err
	}
	path := first(m.walk.path, m.committed.path, m.noted.path, m.objects.path)
	s := sight{path: path}
	if path == "" {
		return s, nil
	}
	if m.walk.path == path {
		s.err = m.walk.err
		if f := m.walk.take(); s.err == nil {
			s.file = f
		}
	}
	if m.committed.path == path {
		s.committed = m.committed.take()
	}
	if m.noted.path == path {
		s.noted = m.noted.take()
	}
	if m.objects.path == path {
		s.object = m.objects.take()
	}
	return s, nil
}

// first is the least of the paths that are not empty.
func first(paths ...string) string {
	least := ""
	for _, p := range paths {
		if p != "" && (least == "" || p < least) {
			least = p
		}
	}
	return least
}

// stream is a sorted stream, of which the first element is seen already.
type stream[T any] struct {
	pull   func() (T, error, bool)
	stop   func()
	pathOf func(T) string

	now  T
	path string // of now; "" at the end
	last string
	err  error
}

func open[T any](seq iter.Seq2[T, error], pathOf func(T) string) stream[T] {
	s := stream[T]{pathOf: pathOf}
	s.pull, s.stop = iter.Pull2(seq)
	s.step()
	return s
}

func (s *stream[T]) failed() error { return s.err }

// take returns the element and goes on to the next.
func (s *stream[T]) take() *T {
	now := s.now
	s.step()
	return &now
}

func (s *stream[T]) step() {
	var ok bool
	s.now, s.err, ok = s.pull()
	s.path = ""
	if !ok {
		return
	}
	if s.path = s.pathOf(s.now); s.path != "" && s.path <= s.last {
		s.err, s.path = fmt.Errorf("%q comes after %q", s.path, s.last), ""
		return
	}
	s.last = s.path
}
