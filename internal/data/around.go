package data

import (
	"context"
	"path"
	"strings"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// Around is the nearest dataset that a prefix lies in, if there is one that this user may see.
func Around(ctx context.Context, bucket store.Store, prefix string) (around string, found bool) {
	for at := strings.Trim(prefix, "/"); at != ""; {
		if at = path.Dir(at); at == "." {
			at = ""
		}
		if _, err := bucket.Head(ctx, manifest.HeadKey(at)); err == nil {
			return at, true
		}
	}
	return "", false
}

// headOf is the directory below the prefix whose dataset an object is the head of.
func headOf(path string) (dir string, ok bool) {
	return strings.CutSuffix(path, "/"+manifest.HeadKey(""))
}
