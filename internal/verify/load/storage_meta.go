//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/muster-hpc/muster/internal/verify/meter"
)

// metadata makes, looks at and removes empty files in a directory of the task, within the measurement's time each.
func (s Storage) metadata(ctx context.Context, p *place, answer *meter.StorageTask) error {
	name := fmt.Sprintf("meta.%s.%d", s.Node, s.Task)
	if err := p.at.Mkdir(name, 0o700); err != nil {
		return fmt.Errorf("make a directory in %s: %w", s.Dir, err)
	}
	dir, err := p.at.OpenRoot(name)
	if err != nil {
		return fmt.Errorf("open a directory in %s: %w", s.Dir, err)
	}
	defer dir.Close()
	m := &meter.MetadataRates{}
	if m.Files, m.Create, err = s.repeat(ctx, s.Files, func(file string) error {
		f, err := dir.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	}); err != nil {
		return fmt.Errorf("make empty files in %s: %w", s.Dir, err)
	}
	answer.Meta = m
	if _, m.Stat, err = s.repeat(ctx, m.Files, func(file string) error { _, err := dir.Lstat(file); return err }); err != nil {
		return fmt.Errorf("look at files in %s: %w", s.Dir, err)
	}
	removed, rate, err := s.repeat(ctx, m.Files, dir.Remove)
	m.Remove = rate
	if err != nil {
		return fmt.Errorf("remove files in %s: %w", s.Dir, err)
	}
	if removed < m.Files {
		return errors.Join(p.at.RemoveAll(name), ctx.Err())
	}
	return p.at.Remove(name)
}

// repeat does something with files until all are done or the time is spent, and says with how many and how many a second.
func (s Storage) repeat(ctx context.Context, files int, do func(file string) error) (done int, rate float64, err error) {
	began := time.Now()
	for done < files && (done == 0 || time.Since(began) < s.Time) && ctx.Err() == nil {
		if err := do(fmt.Sprintf("f%07d", done)); err != nil {
			return done, 0, err
		}
		done++
	}
	return done, float64(done) / max(time.Since(began).Seconds(), 1e-9), ctx.Err()
}
