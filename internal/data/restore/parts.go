package restore

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync"

	"github.com/minio/crc64nvme"
	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// partBytes is the size of a part.
const partBytes = 32 << 20

// parted is a file that comes in parts. The sum of each is noted when it is written: what a run left is read and compared
// with its note by the next one. Together the sums have to be that of the object.
type parted struct {
	*running
	file File
	to   *os.File
	sums []uint64
	have []bool

	mu    sync.Mutex // guards notes
	notes *os.File
}

// inParts fetches a large file.
func (r *running) inParts(ctx context.Context, dir *os.Root, to *os.File, f File) error {
	name := manifest.Beside(path.Base(f.Path) + " parts")
	for n := 1; ; n++ {
		err := r.fill(ctx, dir, name, to, f)
		if err == nil {
			return dir.Remove(name)
		}
		if !errors.Is(err, store.ErrChecksum) || n == tries {
			return err
		}
		r.Progress.Move(-f.Object.SizeBytes)
		r.Progress.Note("%s came damaged, and is fetched again", f.Path)
		if err := errors.Join(dir.Remove(name), to.Truncate(0)); err != nil {
			return err
		}
	}
}

func (r *running) fill(ctx context.Context, dir *os.Root, name string, to *os.File, f File) error {
	notes, err := data.OpenBeside(dir, name)
	if err != nil {
		return err
	}
	defer notes.Close()
	n := int((f.Object.SizeBytes + partBytes - 1) / partBytes)
	p := &parted{running: r, file: f, to: to, notes: notes, sums: make([]uint64, n), have: make([]bool, n)}
	if err := p.recall(); err != nil {
		return err
	}
	if err := p.all(ctx); err != nil {
		return err
	}
	if err := to.Truncate(f.Object.SizeBytes); err != nil {
		return err
	}
	if p.sum() != f.Object.CRC64NVME {
		return store.ErrChecksum
	}
	return nil
}

// recall reads the notes. The last one of a run that was killed may be half a line.
func (p *parted) recall() error {
	lines := bufio.NewScanner(p.notes)
	for lines.Scan() {
		var i int
		var sum uint64
		var end string
		if n, _ := fmt.Sscanf(lines.Text(), "%d %x %s", &i, &sum, &end); n == 3 && end == "." && i >= 0 && i < len(p.sums) {
			p.sums[i], p.have[i] = sum, true
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	if _, err := p.notes.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	_, err := p.notes.WriteString("\n")
	return err
}

// all brings the parts that are not there.
func (p *parted) all(ctx context.Context) error {
	group, going := errgroup.WithContext(ctx)
	for i := range p.sums {
		select {
		case p.parts <- struct{}{}:
		case <-going.Done():
		}
		if going.Err() != nil {
			break
		}
		group.Go(func() error {
			defer func() { <-p.parts }()
			return p.part(going, i)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (p *parted) span(i int) (from, size int64) {
	from = int64(i) * partBytes
	return from, min(partBytes, p.file.Object.SizeBytes-from)
}

func (p *parted) part(ctx context.Context, i int) error {
	from, size := p.span(i)
	if p.have[i] {
		sum, err := sumOf(io.NewSectionReader(p.to, from, size), size, io.Discard)
		if err == nil && sum == p.sums[i] {
			p.Progress.Move(size)
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	body, err := p.View.bucket.Range(ctx, p.file.Object.Key, from, size, p.file.Object.Version)
	if err != nil {
		return err
	}
	defer body.Close()
	if p.sums[i], err = sumOf(told{body, p.running}, size, io.NewOffsetWriter(p.to, from)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = fmt.Fprintf(p.notes, "%d %x .\n", i, p.sums[i])
	return err
}

// sumOf passes so many bytes on, and sums them up.
func sumOf(from io.Reader, size int64, to io.Writer) (uint64, error) {
	crc := crc64nvme.New()
	n, err := io.Copy(io.MultiWriter(to, crc), io.LimitReader(from, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return crc.Sum64(), err
}

// sum is the sum of all parts, as the place says that of an object.
func (p *parted) sum() string {
	var all uint64
	for i, sum := range p.sums {
		_, size := p.span(i)
		all = store.Combine(all, sum, size)
	}
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, all))
}
