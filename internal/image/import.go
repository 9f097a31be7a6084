package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/image/source"
	"github.com/muster-hpc/muster/internal/sys/own"
)

// ImportOptions say what to import and where to. URI and Dir are needed.
type ImportOptions struct {
	URI string
	// Reference is where the image is known to be from, if not from the URI.
	Reference string
	// Name is the image's name in the directory; "" takes it from the URI.
	Name string
	// Dir is the directory of images. It is made if there is none.
	Dir string
	// Cache is where layers are kept; "" is the user's own place in Dir.
	Cache string
	// CacheLimit is how many bytes of layers are kept; 0 is a default.
	CacheLimit int64
	// RootOwned gives all files to root, as Enroot does. Else they keep the
	// owners that they have in the layers.
	RootOwned bool
	// Again makes the image though it is there.
	Again  bool
	Source source.Options
	// Version is muster's, for the metadata.
	Version string
	// Progress may be nil.
	Progress *Progress
}

// Imported is an image that is there now.
type Imported struct {
	Image
	// Unchanged says that there was nothing to do.
	Unchanged bool `json:"unchanged"`
	// Fetched is how many layers came from the source, the others were in the
	// cache. FetchedBytes are those layers' bytes.
	Fetched      int     `json:"layers_fetched"`
	FetchedBytes int64   `json:"fetched_bytes"`
	Seconds      float64 `json:"seconds"`
}

// unfinished comes behind the suffix of a file that is being written.
const unfinished = ".tmp-"

// Import brings an image into a directory, whole or not at all. It may be called
// for one image many times at once, on many nodes: one does the work.
func Import(ctx context.Context, o ImportOptions) (Imported, error) {
	start := time.Now()
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	ref, err := source.Parse(o.URI)
	if err != nil {
		return Imported{}, err
	}
	if o.Name == "" {
		o.Name = ref.Name()
	}
	o.Name = strings.TrimSuffix(o.Name, suffix)
	if err := CheckName(o.Name); err != nil {
		return Imported{}, err
	}
	done, err := o.run(ctx, ref)
	done.Seconds = time.Since(start).Seconds()
	return done, spaceHint(err, o.Dir)
}

// run finds the image out, and imports it unless it is there.
func (o ImportOptions) run(ctx context.Context, ref source.Ref) (Imported, error) {
	img, err := o.look(ctx, ref)
	if err != nil {
		return Imported{}, err
	}
	defer img.Close()
	return o.bring(ctx, img)
}

// look finds the image out.
func (o ImportOptions) look(ctx context.Context, ref source.Ref) (*source.Image, error) {
	if err := own.Way(o.Dir); err != nil {
		return nil, fmt.Errorf("make the directory of images: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of images: %w", err)
	}
	if o.Source.Notice == nil {
		o.Source.Notice = o.Progress.tell
	}
	if o.Source.TempDir == "" {
		o.Source.TempDir = o.Dir
	}
	o.Progress.begin(Looking, 0)
	return source.Open(ctx, ref, o.Source)
}

// bring imports an image unless it is there.
func (o ImportOptions) bring(ctx context.Context, img *source.Image) (Imported, error) {
	meta, err := metaOf(img)
	if err != nil {
		return Imported{}, err
	}
	meta.Name, meta.Muster = o.Name, o.Version
	if o.Reference != "" {
		meta.Source = o.Reference
	}
	if o.RootOwned {
		meta.Owners = "root"
	}
	if have, ok := o.present(meta); ok {
		return have, nil
	}
	unlock, err := lockImage(ctx, Path(o.Dir, o.Name), func() { o.Progress.begin(Waiting, 0) })
	if err != nil {
		return Imported{}, err
	}
	defer unlock()
	if have, ok := o.present(meta); ok {
		return have, nil // the one we waited for did it
	}
	done, err := o.make(ctx, img, meta)
	if have, ok := o.present(meta); ok && errors.Is(err, fs.ErrPermission) {
		return have, nil // another user was faster, whose file stays
	}
	return done, err
}

// present is the image if it is there already, and that will do. For root the file has
// to be root's: other users could have written anything into it.
func (o ImportOptions) present(want Meta) (Imported, bool) {
	if o.Again {
		return Imported{}, false
	}
	have, err := Inspect(o.Dir, o.Name)
	if err != nil || have.Meta == nil || have.Digest != want.Digest || have.Arch != want.Arch || have.Owners != want.Owners {
		return Imported{}, false
	}
	if os.Geteuid() == 0 && !own.Mine(have.Path) {
		return Imported{}, false
	}
	return Imported{Image: have, Unchanged: true}, true
}

// make imports an image whose lock we hold.
func (o ImportOptions) make(ctx context.Context, img *source.Image, meta Meta) (Imported, error) {
	if err := o.removeLeftovers(); err != nil {
		return Imported{}, err
	}
	var err error
	if o.Cache, err = makeCache(o.Cache, o.Dir); err != nil {
		return Imported{}, err
	}
	c, err := openCache(o.Cache)
	if err != nil {
		return Imported{}, err
	}
	defer c.close()
	done, err := o.fetchAndWrite(ctx, c, img, meta)
	if err != nil {
		return done, err
	}
	if _, _, err := c.trim(limitOf(o.CacheLimit, o.Cache)); err != nil {
		o.Progress.tell(fmt.Sprintf("the layer cache could not be trimmed: %v", err))
	}
	done.Image, err = Inspect(o.Dir, o.Name)
	return done, err
}

// removeLeftovers removes what the user's imports of the same name left that were killed.
func (o ImportOptions) removeLeftovers() error {
	left, err := filepath.Glob(Path(o.Dir, o.Name) + unfinished + "*")
	if err != nil {
		return err
	}
	for _, f := range left {
		if !own.Mine(f) {
			continue
		}
		if err := os.Remove(f); err != nil {
			return fmt.Errorf("remove what a killed import left: %w", err)
		}
	}
	return nil
}

// fetchAndWrite brings the layers into the cache and writes the image. If a layer proves
// damaged, or the cache is emptied between the two, it does both again.
func (o ImportOptions) fetchAndWrite(ctx context.Context, c *cache, img *source.Image, meta Meta) (Imported, error) {
	var done Imported
	for try := 1; ; try++ {
		n, bytes, err := o.fetch(ctx, c, img)
		done.Fetched += n
		done.FetchedBytes += bytes
		if err != nil {
			return done, err
		}
		err = o.write(ctx, c, meta)
		if !errors.Is(err, layer.ErrMissing) || try == 3 {
			return done, err
		}
		o.Progress.tell(err.Error() + "; it is fetched again")
	}
}

// missing are the layers that the cache does not have, each once, the largest first: only
// one CPU decompresses it, and the others have the rest to do meanwhile.
func missing(c *cache, img *source.Image) (todo []source.Layer, bytes, least int64, err error) {
	seen := map[string]bool{}
	for _, l := range img.Layers {
		have, err := c.Has(descriptor(l))
		if err != nil {
			return nil, 0, 0, err
		}
		if !seen[l.Digest] && !have {
			todo = append(todo, l)
			bytes += l.Size
			least += atLeast(l)
		}
		seen[l.Digest] = true
	}
	slices.SortStableFunc(todo, func(a, b source.Layer) int { return cmp.Compare(b.Size, a.Size) })
	return todo, bytes, least, nil
}

func descriptor(l source.Layer) layer.Descriptor {
	return layer.Descriptor{MediaType: l.MediaType, Digest: l.Digest, Size: l.Size, DiffID: l.DiffID}
}

// fetch brings the layers that are missing into the cache, several at once. The
// cache says how many.
func (o ImportOptions) fetch(ctx context.Context, c *cache, img *source.Image) (n int, bytes int64, err error) {
	todo, total, least, err := missing(c, img)
	if err != nil {
		return 0, 0, err
	}
	var all int64
	for _, l := range img.Layers {
		all += atLeast(l)
	}
	// An image that shadows much of its lower layers is smaller than these.
	if err := checkSpace(needs{c.dir, least}, needs{o.Dir, all / 4}); err != nil {
		return 0, 0, err
	}
	o.Progress.fetched.Store(0)
	o.Progress.begin(Fetching, total)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.AtOnce()) // those that wait get their turn in any order
	for _, l := range todo {
		group.Go(func() error { return o.build(ctx, c, l) })
	}
	return len(todo), total, group.Wait()
}

// build brings one layer into the cache.
func (o ImportOptions) build(ctx context.Context, c *cache, l source.Layer) error {
	var before int64
	return c.Build(ctx, l.Open, descriptor(l), layer.BuildOptions{Progress: func(read int64) {
		o.Progress.fetched.Add(read - before)
		before = read
	}})
}
