package image

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Verdict is what is known of the bytes of an image's file.
type Verdict string

// The verdicts.
const (
	Sound   Verdict = "sound"
	Damaged Verdict = "damaged"
	// Unknown is for files that others, or older versions, have made: they have no
	// checksum.
	Unknown Verdict = "unknown"
)

// Verified is an image whose bytes were read.
type Verified struct {
	Image
	Verdict Verdict `json:"verdict"`
}

// Verify reads an image of a directory and compares it with its checksum. The error
// wraps fs.ErrNotExist if there is none; that it is damaged is no error.
func Verify(ctx context.Context, dir, name string) (Verified, error) {
	i, err := read(Path(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		_, err = Inspect(dir, name) // in other words
		return Verified{Image: i, Verdict: Unknown}, err
	case err != nil:
		i.Problem = whole.Cause(err).Error()
		return Verified{Image: i, Verdict: Damaged}, nil
	}
	f, err := os.Open(i.Path)
	if err != nil {
		return Verified{Image: i}, err
	}
	defer f.Close()
	v := Verified{Image: i}
	v.Verdict, v.Problem, err = verdictOn(ctx, f, i.SizeBytes)
	return v, err
}

// verdictOn compares a file with the checksum in it.
func verdictOn(ctx context.Context, f *os.File, size int64) (v Verdict, problem string, err error) {
	data, found, err := trailerOf(f, size)
	if err != nil || !found {
		return Unknown, "it has no checksum: another program has made it, or a step of an older muster has saved it", err
	}
	at := size - int64(endSize) - int64(len(data)) - int64(sumSize)
	want := make([]byte, sumSize)
	if at < 0 {
		return Damaged, "it is too short", nil
	}
	if _, err := f.ReadAt(want, at); err != nil {
		return Damaged, whole.Cause(err).Error(), nil
	}
	if !bytes.HasPrefix(want, []byte(sumMagic)) && at%padTo != 0 {
		return Unknown, "it has no checksum: an older muster has made it", nil
	}
	sum, err := checksum(ctx, f, at, nil, data)
	switch {
	case ctx.Err() != nil:
		return Unknown, "", context.Cause(ctx)
	case err != nil:
		return Damaged, err.Error(), nil
	case string(want) != sumMagic+string(sum):
		return Damaged, "it differs from what was written", nil
	}
	return Sound, "", nil
}
