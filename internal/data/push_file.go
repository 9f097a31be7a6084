package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

const (
	// tries are how often a file is read that changes meanwhile.
	tries = 3

	// clockTick is longer than the clock of files stands still (10 ms where it ticks a hundred times a second): a file that was written before it and again after it has
	// two times of change.
	clockTick = 11 * time.Millisecond
)

// errChanged says that a file was written while it was read.
var errChanged = errors.New("it is being written: it changed each time that it was read")

// fileError is what is wrong with a file of the source alone.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// put sends a file as it is now, again if it changes meanwhile. It returns store.ErrChanged if somebody else put an object
// of its key.
func (r *pushing) put(ctx context.Context, s step) (record manifest.Record, err error) {
	for range tries {
		record, err = r.putOnce(ctx, s)
		if !errors.Is(err, errChanged) {
			return record, err
		}
		s.begun = nil // the store ended it
	}
	return record, err
}

func (r *pushing) putOnce(ctx context.Context, s step) (manifest.Record, error) {
	in, err := r.open(ctx, s.path)
	if err != nil {
		return manifest.Record{}, err
	}
	defer in.close()
	u := r.upload(in)
	if s.begun != nil {
		if u.Resume = s.begun.Upload; s.begun.As != as(u) {
			if err := r.Bucket.Abort(ctx, u.Key, u.Resume); err != nil {
				return manifest.Record{}, err
			}
			u.Resume = ""
		}
	}
	o, err := r.Bucket.PutIf(ctx, u, s.was) // what appeared since the bucket was listed is another push's
	if errors.Is(err, io.ErrUnexpectedEOF) && in.same() != nil {
		err = fileError{errChanged}
	}
	if errors.Is(err, store.ErrChanged) {
		return r.landed(ctx, in, err)
	}
	if err != nil {
		return manifest.Record{}, err
	}
	return in.record(o), nil
}

// landed looks what stands in the way of a file. It may be this very file: what a push sent that was killed can come to
// its place after the next one listed the bucket.
func (r *pushing) landed(ctx context.Context, in *reading, changed error) (manifest.Record, error) {
	o, err := r.Bucket.Head(ctx, r.key(in.want.Path))
	if errors.Is(err, store.ErrNotFound) || err == nil && (o.SizeBytes != in.want.SizeBytes || o.CRC64NVME == "") {
		return manifest.Record{}, changed
	}
	if err != nil {
		return manifest.Record{}, errors.Join(changed, err)
	}
	sums, err := in.sums()
	if err != nil {
		return manifest.Record{}, err
	}
	if sums.CRC64NVME != o.CRC64NVME {
		return manifest.Record{}, changed
	}
	o.SHA256 = sums.SHA256
	return in.record(o), nil
}

func (r *pushing) upload(in *reading) store.Upload {
	f := in.want
	u := store.Upload{
		Key: r.key(f.Path), Body: in, SizeBytes: f.SizeBytes, Same: in.same, Sent: r.Progress.Move, Meta: metadata(f),
		Class: r.Options.Class, KMSKey: r.Options.KMSKey, Kept: r.resumed,
	}
	u.Begun = func(id string) error {
		return r.journal.add(note{Path: f.Path, Begun: &begun{Upload: id, As: as(u)}})
	}
	return u
}

func (r *pushing) resumed(bytes int64) {
	r.Progress.Move(bytes)
	r.count(func(p *Pushed) { p.ResumedBytes += bytes })
}

// as is what an upload in parts is begun with, and has to be gone on with.
func as(u store.Upload) string {
	return fmt.Sprintf("%d %v %q %q", u.SizeBytes, u.Meta, u.Class, u.KMSKey)
}

// metadata are in the words that FSx for Lustre uses: an import of the prefix gives files their times and modes.
func metadata(f walk.File) map[string]string {
	return map[string]string{
		metaModTime:        fmt.Sprintf("%dns", f.ModTime),
		"file-permissions": fmt.Sprintf("%07o", syscall.S_IFREG|f.Mode),
		"file-owner":       fmt.Sprint(f.UID),
		"file-group":       fmt.Sprint(f.GID),
	}
}

const metaModTime = "file-mtime"

// find says whether the object is the file: by what whoever put it said of the file, or by its checksum.
func (r *pushing) find(ctx context.Context, s step) (manifest.Record, error) {
	in, err := r.open(ctx, s.path)
	if err != nil {
		return manifest.Record{}, err
	}
	defer in.close()
	o, err := r.Bucket.Head(ctx, r.key(s.path))
	if errors.Is(err, store.ErrNotFound) || err == nil && (o.SizeBytes != in.want.SizeBytes || o.CRC64NVME == "") {
		return manifest.Record{}, nil
	}
	if err != nil {
		return manifest.Record{}, err
	}
	if o.SHA256 == "" || o.Meta[metaModTime] != metadata(in.want)[metaModTime] {
		sums, err := in.sums()
		if err != nil || sums.CRC64NVME != o.CRC64NVME {
			return manifest.Record{}, err
		}
		o.SHA256 = sums.SHA256
	}
	return in.record(o), nil
}

// reading is an open file that is read as it was found.
type reading struct {
	file *os.File
	want walk.File
}

// open opens a file that has not changed for a moment. If it changes from now on, the kernel's clock shows it.
func (r *pushing) open(ctx context.Context, path string) (*reading, error) {
	f, err := os.OpenFile(r.at(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError{whole.Cause(err)}
	}
	in := &reading{file: f}
	err = in.look(path)
	if since := time.Since(time.Unix(0, in.want.Self.Change)); err == nil && since >= 0 && since < clockTick {
		if err = pause.For(ctx, clockTick-since); err == nil {
			err = in.look(path)
		}
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// at is where a path of the source is.
func (p Push) at(path string) string {
	if p.single {
		return p.Source
	}
	return filepath.Join(p.Source, filepath.FromSlash(path))
}

func (in *reading) look(path string) error {
	info, err := in.file.Stat()
	switch {
	case err != nil:
		return fileError{err}
	case !info.Mode().IsRegular():
		return fileError{errors.New("it is no file any more")}
	}
	in.want = walk.Described(path, info)
	return nil
}

func (in *reading) close() { in.file.Close() }

// ReadAt implements io.ReaderAt.
func (in *reading) ReadAt(p []byte, at int64) (int, error) {
	n, err := in.file.ReadAt(p, at)
	if err != nil && err != io.EOF {
		err = fileError{whole.Cause(err)}
	}
	return n, err
}

// same says whether the file is as it was when it was opened.
func (in *reading) same() error {
	info, err := in.file.Stat()
	if err != nil {
		return fileError{err}
	}
	if walk.Described(in.want.Path, info) != in.want {
		return fileError{errChanged}
	}
	return nil
}

// sums reads the file for its checksums alone.
func (in *reading) sums() (store.Sums, error) {
	sums, err := store.Sum(in, in.want.SizeBytes)
	if changed := in.same(); changed != nil {
		return sums, changed
	}
	return sums, err
}

// record is that of the object which is the file.
func (in *reading) record(o store.Object) manifest.Record {
	f := in.want
	return manifest.Record{
		Path: f.Path, SizeBytes: f.SizeBytes, ModTime: f.ModTime, Mode: f.Mode, SHA256: o.SHA256, CRC64NVME: o.CRC64NVME,
		Version: o.Version, PartBytes: o.PartBytes, Parts: o.Parts,
	}
}
