package data

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"sync"

	"github.com/minio/crc64nvme"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

const (
	pieceBytes  = 1 << 20 // are read, summed up and written at once: many enough for few calls of the system, few enough for the processor's cache
	wholeAtOnce = 32      // files that are fetched in one piece each
	largeAtOnce = 8       // files that are fetched in parts
	fetches     = 5       // of bytes that come damaged
)

// arrival fetches files to where they are proven.
type arrival struct {
	bucket   store.Store
	prefix   string
	to       *local
	progress *Progress
	parts    chan struct{} // as many as may be fetched at once
	pieces   sync.Pool     // of *[]byte
}

// partsAtOnce is how many parts of all files are fetched at once: a place far away gives each no more than 100 MB a second, and
// more than a few for each processor only get in each other's way.
func partsAtOnce() int { return min(max(8, 4*runtime.NumCPU()), 32) }

func newArrival(bucket store.Store, prefix string, to *local, p *Progress) *arrival {
	a := &arrival{bucket: bucket, prefix: prefix, to: to, progress: p, parts: make(chan struct{}, partsAtOnce())}
	a.pieces.New = func() any {
		b := make([]byte, pieceBytes)
		return &b
	}
	return a
}

// errDamaged says that what came is not what the manifest names.
var errDamaged = errors.New("its bytes are not those that were pushed")

// bring puts a file in its place. Whatever happens, its name leads to the bytes before or to the proven ones.
func (a *arrival) bring(ctx context.Context, r manifest.Record) (err error) {
	dir, err := a.to.folder(r.Path, true)
	if err != nil {
		return err
	}
	defer a.to.release(dir)
	tmp := manifest.Beside(path.Base(r.Path))
	f, err := OpenBeside(dir.root, tmp)
	if err != nil {
		return err
	}
	fill := a.whole
	if len(r.Parts) > 0 {
		fill = a.inParts
	}
	if err = fill(ctx, f, r); err == nil {
		err = finish(dir, f, r)
	}
	err = errors.Join(err, f.Close())
	if err != nil && !keeps(r, err) {
		err = errors.Join(err, dir.root.Remove(tmp))
	}
	return err
}

// keeps says whether what is there of a file is worth being gone on with.
func keeps(r manifest.Record, err error) bool {
	return len(r.Parts) > 0 && !errors.Is(err, errDamaged) && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrChanged)
}

// whole fetches a file in one piece.
func (a *arrival) whole(ctx context.Context, f *os.File, r manifest.Record) error {
	for n := 1; ; n++ {
		if err := makeEmpty(f); err != nil { // of one that was cut off, or that is to come again
			return err
		}
		sha := sha256.New()
		err := a.read(ctx, r, 0, r.SizeBytes, func(b []byte, at int64) error {
			sha.Write(b)
			return writeSparse(f, b, at)
		})
		if err != nil {
			return err
		}
		if hex.EncodeToString(sha.Sum(nil)) == r.SHA256 {
			return hollow(f, r.SizeBytes)
		}
		a.progress.Move(-r.SizeBytes)
		if n == fetches {
			return errDamaged
		}
	}
}

// makeEmpty takes away what is in a file. ext4 writes a file down when it is closed that was cut to nothing, even one that had nothing.
func makeEmpty(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	return f.Truncate(0)
}

// hollow gives a file its size, where it ends with a hole. After a crash it would have that without its bytes, and be taken
// for whole: so they go to the disk first.
func hollow(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() == size {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync())
}

// read passes some bytes of an object on, in pieces that are gone afterwards.
func (a *arrival) read(ctx context.Context, r manifest.Record, from, size int64, take func(b []byte, at int64) error) error {
	body, err := a.bucket.Range(ctx, manifest.Key(a.prefix, r.Path), from, size, r.Version)
	if err != nil {
		return err
	}
	defer body.Close()
	return a.pass(body, from, size, func(b []byte, at int64) error {
		a.progress.Move(int64(len(b)))
		return take(b, at)
	})
}

// pass reads so many bytes in pieces.
func (a *arrival) pass(from io.Reader, at, size int64, take func(b []byte, at int64) error) error {
	held := a.pieces.Get().(*[]byte)
	defer a.pieces.Put(held)
	for end := at + size; at < end; {
		b := (*held)[:min(pieceBytes, end-at)]
		if _, err := io.ReadFull(from, b); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if err := take(b, at); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

func crcText(crc uint64) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc))
}

// parted is a file that arrives in parts, each of which is proven by its own CRC64NVME in the manifest. A SHA-256 over all
// of them would cost as much time again as all the rest, and prove nothing more: who can forge the one can forge the other.
type parted struct {
	*arrival
	record manifest.Record
	file   io.WriterAt
	before io.ReaderAt // what was there before, which may be parts of it; nil if there was nothing
}

// inParts fetches a large file. What is there of it from before is proven part by part, and fetched where it is not right.
func (a *arrival) inParts(ctx context.Context, f *os.File, r manifest.Record) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := f.Truncate(r.SizeBytes); err != nil {
		return err
	}
	past := pastCache(f, r.PartBytes)
	defer past.close()
	p := &parted{arrival: a, record: r, file: past}
	if info.Size() > 0 {
		p.before = f
	}
	if err := p.fill(ctx); err != nil {
		return err
	}
	return f.Sync() // it had its size before its bytes: after a crash it would be taken for whole
}

// fill fetches the parts, several at once.
func (p *parted) fill(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for i := range p.record.Parts {
		select {
		case p.parts <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-p.parts }()
			if err := p.part(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// span is where a part is.
func (p *parted) span(i int) (from, size int64) {
	from = int64(i) * p.record.PartBytes
	return from, min(p.record.PartBytes, p.record.SizeBytes-from)
}

// part brings one part, if it is not there.
func (p *parted) part(ctx context.Context, i int) error {
	from, size := p.span(i)
	empty := true
	if p.before != nil {
		there, nothing, err := p.isThere(i)
		if err != nil {
			return err
		}
		if there {
			p.progress.Move(size)
			return nil
		}
		empty = nothing
	}
	for n := 1; ; n++ {
		err := p.fetch(ctx, i, empty)
		if !errors.Is(err, errDamaged) || n == fetches {
			return err
		}
		empty = false
		p.progress.Move(-size)
		p.progress.Note("%s: the bytes from %d to %d came damaged and are fetched again", p.record.Path, from, from+size)
	}
}

// isThere says whether a part is in the file, and whether nothing but zeros is.
func (p *parted) isThere(i int) (there, nothing bool, err error) {
	from, size := p.span(i)
	crc, nothing := uint64(0), true
	err = p.pass(io.NewSectionReader(p.before, from, size), from, size, func(b []byte, _ int64) error {
		crc = crc64nvme.Update(crc, b)
		nothing = nothing && isZero(b)
		return nil
	})
	return crcText(crc) == p.record.Parts[i], nothing, err
}

// fetch brings the bytes of a part.
func (p *parted) fetch(ctx context.Context, i int, empty bool) error {
	from, size := p.span(i)
	crc := uint64(0)
	err := p.read(ctx, p.record, from, size, func(b []byte, at int64) error {
		crc = crc64nvme.Update(crc, b)
		return p.write(b, at, empty)
	})
	if err == nil && crcText(crc) != p.record.Parts[i] {
		err = fmt.Errorf("%w: those from %d to %d", errDamaged, from, from+size)
	}
	return err
}

func (p *parted) write(b []byte, at int64, empty bool) error {
	if empty {
		return writeSparse(p.file, b, at)
	}
	_, err := p.file.WriteAt(b, at)
	return err
}
