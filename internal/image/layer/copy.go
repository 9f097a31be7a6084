package layer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
)

// copying takes ranges of segments into an image. It reads the segments whole and
// compares them with their checksums on the way.
type copying struct {
	cache  *Cache
	layers []*segment
	ranges [][]span // by layer, forwards
	out    *os.File
	known  *Written
	todo   []stretch
}

// stretch is a part of a segment that has a checksum.
type stretch struct{ layer, number int }

func (c *Cache) copyRanges(ctx context.Context, layers []*segment, ranges []span, out *os.File, known *Written) error {
	k := &copying{cache: c, layers: layers, ranges: make([][]span, len(layers)), out: out, known: known}
	for _, r := range ranges {
		k.ranges[r.layer] = append(k.ranges[r.layer], r)
	}
	for l, s := range layers {
		for n := range s.sums {
			k.todo = append(k.todo, stretch{l, n})
		}
	}
	return eachOf(ctx, len(k.todo), k.stretch)
}

// stretch copies what the image has of one.
func (k *copying) stretch(i int, buf []byte) error {
	at := k.todo[i]
	s, ranges := k.layers[at.layer], k.ranges[at.layer]
	from := int64(at.number) * sumStretch
	size := min(sumStretch, s.foot.Index-from)
	var written writing
	sum, err := readStretch(s.file, from, size, buf, func(at int64, piece []byte) error {
		n := int64(len(piece))
		next := sort.Search(len(ranges), func(i int) bool { return ranges[i].from+ranges[i].size > at })
		for ; next < len(ranges) && ranges[next].from < at+n; next++ {
			r := ranges[next]
			begin, end := max(r.from, at), min(r.from+r.size, at+n)
			part, to := piece[begin-at:end-at], r.to+begin-r.from
			if _, err := k.out.WriteAt(part, to); err != nil {
				return fmt.Errorf("copy into image: %w", err)
			}
			written.wrote(part, to)
		}
		return nil
	})
	switch {
	case errors.Is(err, errUnreadable):
		err = k.damaged(s, err)
	case err == nil && sum != s.sums[at.number]:
		err = k.damaged(s, fmt.Errorf("it differs from what was written, within %d bytes from byte %d on", size, from))
	case err == nil && len(written) > 0:
		k.known.add(written)
		writeOut(k.out, written[0].at, written[len(written)-1].end())
	}
	if known := (*Error)(nil); err != nil && !errors.As(err, &known) {
		err = &Error{Digest: s.digest, Err: err}
	}
	return err
}

// damaged removes a segment from the cache, from which the layer is missing then.
func (k *copying) damaged(s *segment, why error) error {
	return errors.Join(fmt.Errorf("%w any more: %w", ErrMissing, why), k.cache.Remove(s.digest))
}
