//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/verify/meter"
)

// fileOf is the file of a stream.
func fileOf(node string, task, stream int) string {
	return fmt.Sprintf("data.%s.%d.%d", node, task, stream)
}

// streamed is what a stream came to.
type streamed struct {
	bytes  int64
	direct bool
	// cached is the part of what was read that lay in this node's memory, negative where that is not known.
	cached float64
	err    error
}

// together runs all streams at once, until their bytes or the time are spent.
func (s Storage) together(ctx context.Context, one func(ctx context.Context, stream int, until time.Time) streamed) (sum streamed, took time.Duration) {
	all, began := make([]streamed, s.Streams), time.Now()
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { all[i] = one(ctx, i, began.Add(s.Time)) })
	}
	group.Wait()
	took, sum.direct = time.Since(began), true
	var errs []error
	unknown := false
	for _, r := range all {
		sum.bytes += r.bytes
		sum.direct = sum.direct && r.direct
		if sum.cached = max(sum.cached, r.cached); r.cached < 0 {
			unknown = true
		}
		errs = append(errs, r.err)
	}
	if unknown && sum.cached == 0 {
		sum.cached = -1
	}
	sum.err = errors.Join(errs...)
	return sum, took
}

// write writes the task's files, and waits until they are where they stay.
func (s Storage) write(ctx context.Context, p *place, answer *meter.StorageTask) error {
	sum, took := s.together(ctx, func(ctx context.Context, stream int, until time.Time) streamed {
		return s.writeFile(ctx, p, fileOf(s.Node, s.Task, stream), s.each(), until)
	})
	answer.Write = &meter.StorageRate{Bytes: sum.bytes, Seconds: took.Seconds(), Direct: sum.direct}
	if !sum.direct {
		answer.Notes = append(answer.Notes, "O_DIRECT was refused: written through the page cache, with fdatasync")
	}
	return sum.err
}

func (s Storage) writeFile(ctx context.Context, p *place, name string, size int64, until time.Time) (r streamed) {
	f, direct, err := p.create(name)
	if err != nil {
		return streamed{err: fmt.Errorf("make a file in %s: %w", s.Dir, err)}
	}
	r.direct = direct
	defer func() { r.err = errors.Join(r.err, f.Close()) }()
	buffer, free, err := aligned()
	if err != nil {
		return streamed{err: err}
	}
	defer free()
	data := patternOf(s.Run, name)
	copy(buffer, data.base)
	for number := int64(0); r.bytes < size && (number == 0 || time.Now().Before(until)) && ctx.Err() == nil; number++ {
		data.stampAll(buffer, number)
		if _, err := f.WriteAt(buffer, r.bytes); err != nil {
			r.err = fmt.Errorf("write to %s: %w", s.Dir, err)
			return r
		}
		r.bytes += chunk
	}
	if err := syscall.Fdatasync(int(f.Fd())); err != nil {
		r.err = fmt.Errorf("bring what was written in %s to its disks: %w", s.Dir, err)
	}
	forget(f)
	return r
}

// create makes a file, past the page cache where the file system can: one that cannot says so with EINVAL, at the opening or later.
func (p *place) create(name string) (f *os.File, direct bool, err error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err = p.at.OpenFile(name, flags|syscall.O_DIRECT, 0o600)
	if err == nil && accepts(f) {
		return f, true, nil
	}
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		return nil, false, err
	}
	if f != nil {
		err = f.Close()
	}
	if gone := p.at.Remove(name); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return nil, false, errors.Join(err, gone)
	}
	f, err = p.at.OpenFile(name, flags, 0o600)
	return f, false, err
}

// accepts tries whether a new file takes a direct write: some file systems refuse not the opening, but the first write.
func accepts(f *os.File) bool {
	buffer, free, err := aligned()
	if err != nil {
		return false
	}
	defer free()
	_, err = f.WriteAt(buffer[:sector], 0)
	return !errors.Is(err, syscall.EINVAL)
}

// read reads files that were written before and holds every byte of them against what it must be.
func (s Storage) read(ctx context.Context, p *place, answer *meter.StorageTask) error {
	of := s.source()
	sum, took := s.together(ctx, func(ctx context.Context, stream int, until time.Time) streamed {
		return s.readFile(ctx, p, fileOf(of, s.Task, stream), until)
	})
	answer.Read = &meter.StorageRate{Bytes: sum.bytes, Seconds: took.Seconds(), Direct: sum.direct, Of: of, Blind: remembered(sum)}
	if !sum.direct {
		answer.Notes = append(answer.Notes, "O_DIRECT was refused: read through the page cache, from which the files were dropped before")
	}
	return sum.err
}

// mostCached is the part of a file in memory from which on a rate says nothing of its file system.
const mostCached = 0.02

// remembered is why reading is blind, empty if it is not.
func remembered(sum streamed) string {
	switch {
	case sum.cached > mostCached:
		return fmt.Sprintf("%.0f %% of what was read lay in this node's memory", 100*sum.cached)
	case sum.cached < 0 && !sum.direct:
		return "whether what was read lay in this node's memory is not known"
	}
	return ""
}

func (s Storage) readFile(ctx context.Context, p *place, name string, until time.Time) (r streamed) {
	f, direct, err := p.open(name)
	if err != nil {
		return streamed{err: fmt.Errorf("open a file in %s: %w", s.Dir, err)}
	}
	r.direct = direct
	defer func() { r.err = errors.Join(r.err, f.Close()) }()
	forget(f)
	r.cached = cached(f)
	buffer, free, err := aligned()
	if err != nil {
		return streamed{err: err}
	}
	defer free()
	data := patternOf(s.Run, name)
	for number := int64(0); (number == 0 || time.Now().Before(until)) && ctx.Err() == nil; number++ {
		n, err := f.ReadAt(buffer, r.bytes)
		if n == 0 && errors.Is(err, io.EOF) && number > 0 {
			return r
		}
		if err != nil {
			r.err = fmt.Errorf("read from %s: %w", s.Dir, notWhole(n, err))
			return r
		}
		if r.err = data.check(buffer, number); r.err != nil {
			return r
		}
		r.bytes += chunk
	}
	return r
}

// notWhole is the error of a file that ends within a chunk.
func notWhole(n int, err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: a file ends after %d bytes of a chunk", errDamaged, n)
	}
	return err
}

func (p *place) open(name string) (f *os.File, direct bool, err error) {
	f, err = p.at.OpenFile(name, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err == nil {
		return f, true, nil
	}
	if !errors.Is(err, syscall.EINVAL) {
		return nil, false, err
	}
	f, err = p.at.OpenFile(name, os.O_RDONLY, 0)
	return f, false, err
}
