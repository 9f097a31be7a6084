package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Sample is some files of a dataset, chosen by chance, that are fetched and proven, and unpacked where they are archives.
type Sample struct {
	Dataset  *Dataset
	Files    int
	Seed     uint64                           // the same chooses the same files of a dataset
	Dir      string                           // where they are put; it is empty or not there
	Wanted   func(path string, dir bool) bool // nil for all
	Progress *Progress                        // may be nil
}

// Sampled is what was fetched.
type Sampled struct {
	Paths    []string
	Bytes    int64
	Unpacked int64 // files that came out of archives
	LeftOut  int64 // links and other things in archives that are no files
	Problems Problems
}

// Run chooses, fetches and unpacks.
func (s *Sample) Run(ctx context.Context) (Sampled, error) {
	chosen, err := s.choose(ctx)
	if err != nil {
		return Sampled{}, err
	}
	if entries, err := os.ReadDir(s.Dir); err == nil && len(entries) > 0 {
		return Sampled{}, fmt.Errorf("%s is not empty: a sample is put where nothing else is", s.Dir)
	}
	to, err := openLocal(s.Dir)
	if err != nil {
		return Sampled{}, fmt.Errorf("put the sample to %s: %w", s.Dir, err)
	}
	defer to.close()
	run := &pulling{Pull: &Pull{Dataset: s.Dataset, Dir: s.Dir, Progress: s.Progress}, to: to}
	run.arrival = newArrival(s.Dataset.bucket, s.Dataset.Prefix, to, s.Progress)
	if err := run.these(ctx, chosen); err != nil {
		return Sampled{}, s.put(err)
	}
	found := Sampled{Bytes: run.done.Bytes, Problems: run.done.Problems}
	for _, r := range chosen {
		found.Paths = append(found.Paths, r.Path)
	}
	if found.Problems.All > 0 {
		return found, nil
	}
	return found, s.put(unpackAll(ctx, to.root, chosen, &found))
}

// put says where there is no room. A sample that was cut off is not gone on with.
func (s *Sample) put(err error) error {
	if why := whole.NoRoom(err); why != nil {
		return fmt.Errorf("put the sample to %s: %w", s.Dir, why)
	}
	return err
}

// choose picks files, each as likely as any other, in one pass that holds no more than these.
func (s *Sample) choose(ctx context.Context) ([]manifest.Record, error) {
	chance := rand.New(rand.NewPCG(s.Seed, 0))
	var chosen []manifest.Record
	seen := 0
	for r, err := range s.Dataset.wanted(ctx, s.Wanted) {
		if err != nil {
			return nil, err
		}
		seen++
		if len(chosen) < s.Files {
			chosen = append(chosen, r)
		} else if at := chance.IntN(seen); at < s.Files {
			chosen[at] = r
		}
	}
	slices.SortFunc(chosen, func(a, b manifest.Record) int { return strings.Compare(a.Path, b.Path) })
	return chosen, nil
}

// these fetches some files.
func (p *pulling) these(ctx context.Context, records []manifest.Record) error {
	p.Pull.Progress.Begin("fetch")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(largeAtOnce)
	for _, r := range records {
		p.Pull.Progress.Expect(1, r.SizeBytes)
		group.Go(func() error { return p.count(ctx, r, false, p.bring(ctx, r)) })
	}
	p.Pull.Progress.Counted()
	return group.Wait()
}
