package data

import (
	"context"
	"path"
	"strings"

	"github.com/muster-hpc/muster/internal/data/manifest"
)

// around is the nearest dataset that the prefix lies in, if there is one that this user may see.
func (r *pushing) around(ctx context.Context) (prefix string, found bool) {
	for at := strings.Trim(r.Prefix, "/"); at != ""; {
		if at = path.Dir(at); at == "." {
			at = ""
		}
		if _, err := r.Bucket.Head(ctx, manifest.HeadKey(at)); err == nil {
			return at, true
		}
	}
	return "", false
}

// headOf is the directory below the prefix whose dataset an object is the head of.
func headOf(path string) (dir string, ok bool) {
	return strings.CutSuffix(path, "/"+manifest.HeadKey(""))
}
