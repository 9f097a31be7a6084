package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// write makes the image's file of layers that are in the cache: beside its place,
// synced, then renamed.
func (o ImportOptions) write(ctx context.Context, c *cache, meta Meta) (err error) {
	out, err := os.CreateTemp(o.Dir, filepath.Base(Path(o.Dir, o.Name))+unfinished+"*")
	if err != nil {
		return fmt.Errorf("begin the image's file: %w", err)
	}
	defer func() {
		// The progress may still look at the file; that it is closed then is fine.
		out.Close()
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	digests := make([]string, len(meta.Layers))
	for i, l := range meta.Layers {
		digests[i] = l.Digest
	}
	o.Progress.write(out, cached(c, digests))
	owners := layer.KeepOwners
	if o.RootOwned {
		owners = layer.RootOwners
	}
	result, err := layer.Assemble(ctx, c.Cache, digests, enrootFiles(meta), layer.Options{Owners: owners, Time: timeOf(meta)}, out)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	meta.Imported = time.Now().UTC().Truncate(time.Second)
	meta.UncompressedBytes = result.Uncompressed
	if err := writeTrailer(ctx, out, result.BytesUsed, result.Written, meta); err != nil {
		return fmt.Errorf("write the image's metadata: %w", err)
	}
	return o.publish(ctx, out)
}

// publish gives a finished file its name, for good.
func (o ImportOptions) publish(ctx context.Context, out *os.File) error {
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := whole.Rename(out.Name(), Path(o.Dir, o.Name)); err != nil {
		return fmt.Errorf("name the image's file: %w", err)
	}
	return nil
}

// cached is how many bytes layers take in the cache.
func cached(c *cache, digests []string) int64 {
	sizes := map[string]int64{}
	segments, _ := c.List()
	for _, s := range segments {
		sizes[s.Digest] = s.SizeBytes
	}
	var sum int64
	for _, d := range digests {
		sum += sizes[d]
		sizes[d] = 0
	}
	return sum
}

// timeOf is the time of the file system: the image's own, so that the same image
// gives the same bytes, or SOURCE_DATE_EPOCH.
func timeOf(m Meta) time.Time {
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(s, 0).UTC()
	}
	if m.Created.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return m.Created
}
