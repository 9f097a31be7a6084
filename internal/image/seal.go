package image

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// Seal puts a checksum behind a squashfs file that another program has just written, so
// that Verify knows it later. version is muster's. Of what the image asks for, the
// metadata says nothing: that is in its own files.
func Seal(ctx context.Context, f *os.File, version string) error {
	fsys, err := squashfs.Probe(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	m := Meta{Saved: time.Now().UTC().Truncate(time.Second), Muster: version}
	if err := writeTrailer(ctx, f, fsys.BytesUsed, nil, m); err != nil {
		return fmt.Errorf("write the checksum of %s: %w", f.Name(), err)
	}
	return nil
}
