package layer

import (
	"archive/tar"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Build brings a layer into the cache. It does nothing if the layer is there;
// if another process reads it, Build waits for that. Of all layers that are
// built at once, some are read and the others wait, so that memory is bounded.
// The layer's digest, size and diff_id are verified while it is read; if
// anything is wrong, nothing is left. Closing what opened returns must end a
// Read of it that waits.
func (c *Cache) Build(ctx context.Context, opener Opener, d Descriptor, o BuildOptions) error {
	if err := c.build(ctx, opener, d, o); err != nil {
		var known *Error
		if errors.As(err, &known) {
			return err
		}
		return &Error{Digest: d.Digest, Err: err}
	}
	return nil
}

func (c *Cache) build(ctx context.Context, opener Opener, d Descriptor, o BuildOptions) error {
	place, ok := c.path(d.Digest)
	if !ok {
		return fmt.Errorf("%w: it is no sha256 digest", ErrDigest)
	}
	if have, err := c.found(d); have || err != nil {
		return err
	}
	done, err := c.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	p, err := newPart(ctx, place)
	if err != nil {
		return err
	}
	if p == nil {
		_, err := c.found(d)
		return err
	}
	err = c.read(ctx, opener, p.File, d, o)
	if err == nil {
		err = p.commit()
	}
	if err != nil {
		return errors.Join(err, p.discard())
	}
	return nil
}

// found says whether the layer is in the cache, as what it has to be.
func (c *Cache) found(d Descriptor) (bool, error) {
	s, err := c.openSegment(d.Digest)
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer s.file.Close()
	return true, s.foot.agrees(d)
}

// agrees compares what was found when the layer was read with what it has to be.
func (f footer) agrees(d Descriptor) error {
	if d.Size > 0 && f.Size != d.Size {
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrSize, f.Size, d.Size)
	}
	if got := "sha256:" + hex.EncodeToString(f.DiffID[:]); d.DiffID != "" && got != d.DiffID {
		return fmt.Errorf("%w: it is %s, not %.100s", ErrDiffID, got, d.DiffID)
	}
	return nil
}

// read makes the segment of a layer in a file.
func (c *Cache) read(ctx context.Context, opener Opener, f *os.File, d Descriptor, o BuildOptions) error {
	o.Limits = o.Limits.withDefaults()
	raw, err := opener(ctx)
	if err != nil {
		return err
	}
	s, err := open(ctx, raw, c.wide, d, o)
	if err != nil {
		return err
	}
	w := newSegmentWriter(ctx, c.workers, f, o.Limits)
	err = w.entries(s.tar, d.Digest)
	if err == nil {
		err = s.finish(d)
	}
	closed, wrote := s.close(), w.close()
	if err == nil {
		err = errors.Join(closed, wrote)
	}
	if s.blob.err != nil { // the root cause of what decompression says
		err = s.blob.err
	}
	if err != nil {
		return err
	}
	return writeIndex(&w.layout, s.blob.read.Load(), s.tar.sum.Sum(nil))
}

// entries reads a tar to its end.
func (w *segmentWriter) entries(r io.Reader, digest string) error {
	t := tar.NewReader(onlyReader{r})
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if err := w.entry(t, h); err != nil {
			return &Error{Digest: digest, Entry: h.Name, Err: err}
		}
	}
}

// damaged adds ErrStream to errors of decompression and of the tar.
func damaged(err error) error {
	for _, known := range []error{ErrLimit, ErrSize, ErrStream, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return err
		}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrStream, err)
}
