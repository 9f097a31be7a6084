package restore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
)

// ofDataset says that an object is what a dataset says of itself, and no file of anybody's.
func ofDataset(p string) bool {
	p = "/" + p
	return strings.HasSuffix(p, "/"+manifest.HeadKey("")) || strings.Contains(p, "/"+manifest.ManifestKey("", "manifests/"))
}

// hold holds a checkpoint against the manifests of the datasets that it lies in: they name its files and their sizes. One
// that is another one may have been written anew by somebody else: so that is a doubt.
func (v *View) hold(ctx context.Context, f *Found) error {
	for at := f.Dir; f.Doubt == ""; at = path.Dir(at) {
		if v.datasets[at] {
			if err := v.holdTo(ctx, f, at); err != nil {
				return err
			}
		}
		if at == "." {
			break
		}
	}
	return nil
}

// holdTo holds a checkpoint against one dataset. One that cannot be read, or is being pushed, says nothing.
func (v *View) holdTo(ctx context.Context, f *Found, at string) error {
	prefix := v.Prefix
	if at != "." {
		prefix = v.key(at)
	}
	set, err := data.Open(ctx, v.bucket, prefix, page.Printable(prefix))
	for _, none := range []error{data.ErrNone, data.ErrHead, data.ErrChanging, store.ErrNotFound, store.ErrChecksum} {
		if errors.Is(err, none) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	defer set.Close()
	sizes := map[string]int64{}
	for _, x := range f.Files {
		sizes[v.path(x.Object.Key)] = x.Object.SizeBytes
	}
	for r, err := range set.Records(ctx) {
		if err != nil {
			return err
		}
		p := path.Join(at, r.Path)
		in := p == f.Dir || f.Dir == "." || strings.HasPrefix(p, f.Dir+"/")
		if !in || !checkpoint.Part(p) || checkpoint.Pointer(p) {
			continue
		}
		switch size, there := sizes[p]; {
		case !there:
			f.Doubt = fmt.Sprintf("%s, which the dataset's manifest names, is not there", path.Base(p))
		case size != r.SizeBytes:
			f.Doubt = fmt.Sprintf("%s has %s, and %d in the dataset's manifest", path.Base(p), count.Of(size, "byte"), r.SizeBytes)
		default:
			continue
		}
		return nil
	}
	return nil
}
