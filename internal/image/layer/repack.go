package layer

import (
	"context"
	"fmt"
	"os"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// repacker fills new fragment blocks with what is left of old ones.
type repacker struct {
	contents *contents
	workers  *workers
	queue    *queue
	next     func() (*block, error)
	block    *block // is being filled; nil: none
	number   uint32 // of block

	out       *os.File
	end       int64
	fragments []squashfs.Fragment
}

// repack packs parts of fragment blocks anew behind what was copied. It
// returns all fragment blocks and where the data ends.
func repack(ctx context.Context, w *workers, c *contents, a *arrangement, out *os.File) ([]squashfs.Fragment, int64, error) {
	r := &repacker{
		contents: c, workers: w, queue: w.queue(), next: func() (*block, error) { return w.block(ctx) },
		number: uint32(len(a.fragments)), out: out, end: a.end, fragments: a.fragments,
	}
	d := squashfs.NewDecoder()
	var err error
	for _, p := range a.repack {
		if err = r.parts(d, p); err != nil {
			break
		}
	}
	r.flush()
	if wait := r.queue.close(); err == nil {
		err = wait
	}
	return r.fragments, r.end, err
}

// parts takes contents out of a fragment block.
func (r *repacker) parts(d *squashfs.Decoder, p parts) error {
	from := r.contents.layers[p.layer]
	at := from.fragments[p.fragment]
	data := make([]byte, squashfs.StoredSize(at.word))
	if _, err := from.file.ReadAt(data, at.start); err != nil {
		return &Error{Digest: from.digest, Err: err}
	}
	data, err := d.Block(data, at.word, nil)
	if err != nil {
		return &Error{Digest: from.digest, Err: err}
	}
	for _, n := range p.contents {
		s := &r.contents.list[n]
		if s.at+s.size > int64(len(data)) {
			return &Error{Digest: from.digest, Err: fmt.Errorf("%w: a file lies outside its block", errCorrupt)}
		}
		if err := r.add(s, data[s.at:s.at+s.size]); err != nil {
			return err
		}
	}
	return nil
}

func (r *repacker) add(s *stored, data []byte) error {
	if r.block != nil && len(r.block.data)+len(data) > squashfs.BlockSize {
		r.flush()
	}
	if r.block == nil {
		var err error
		if r.block, err = r.next(); err != nil {
			return err
		}
	}
	s.to, s.toFragment = int64(len(r.block.data)), r.number
	r.block.data = append(r.block.data, data...)
	return nil
}

// flush ends the block that is being filled; its error comes when the queue is
// closed.
func (r *repacker) flush() {
	b := r.block
	if b == nil {
		return
	}
	r.block = nil
	r.number++
	_ = r.queue.put(b, false, func() error {
		r.fragments = append(r.fragments, squashfs.Fragment{Start: uint64(r.end), Word: b.word})
		_, err := r.out.WriteAt(b.stored, r.end)
		r.end += int64(len(b.stored))
		return err
	})
}
