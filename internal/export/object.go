package export

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

// looksAtOnce is how many objects are asked about at a time.
const looksAtOnce = 16

// Metadata of an exported file, in the words that FSx for Lustre uses.
const (
	metaModTime = "file-mtime"       // nanoseconds since 1970, as in 17ns
	metaMode    = "file-permissions" // type and permissions in octal, as in 0100644
	metaOwner   = "file-owner"
	metaGroup   = "file-group"
	metaSelf    = "muster-file" // which file it was, see self
)

func metadata(f File) map[string]string {
	return map[string]string{
		metaModTime: modTimeText(f),
		metaMode:    fmt.Sprintf("%07o", f.Mode),
		metaOwner:   fmt.Sprint(f.UID),
		metaGroup:   fmt.Sprint(f.GID),
		metaSelf:    self(f),
	}
}

// self tells a file from one that took its place, or that was written again under its old date: the directory that was
// looked at, the file in it, and when the kernel saw it change.
func self(f File) string { return fmt.Sprintf("%s%d-%d", home(f), f.Inode, f.Change.UnixNano()) }

func home(f File) string { return fmt.Sprintf("%d-", f.Home) }

// doubtful says that a file of the size and date of its object may have another content: since it was exported, it or
// its mode was touched. Of files that came from elsewhere, as by an import, there is nothing to tell it by.
func doubtful(f File, o store.Object) bool {
	was := o.Meta[metaSelf]
	return f.Link == "" && o.SHA256 != "" && strings.HasPrefix(was, home(f)) && was != self(f)
}

func modTimeText(f File) string { return fmt.Sprintf("%dns", f.ModTime.UnixNano()) }

// exported says that an object is the file as it is. An object that was not put by an export counts if it is of the
// same size and no older than the file.
func exported(f File, o store.Object) bool {
	if o.SizeBytes != f.SizeBytes {
		return false
	}
	if f.Link != "" {
		return o.SHA256 == fmt.Sprintf("%x", sha256.Sum256([]byte(f.Link)))
	}
	if own(o) {
		return o.Meta[metaModTime] == modTimeText(f)
	}
	return !f.ModTime.After(o.Modified)
}

// lean is an object with as much of its metadata as decisions need: a bucket may have very many of them.
func lean(o store.Object) store.Object {
	meta := o.Meta
	o.Meta = nil
	for _, k := range []string{metaModTime, metaSelf} {
		if text, ok := meta[k]; ok {
			if o.Meta == nil {
				o.Meta = make(map[string]string, 2)
			}
			o.Meta[k] = strings.Clone(text)
		}
	}
	return o
}

// own says that an export put the object.
func own(o store.Object) bool { return o.Meta[metaModTime] != "" }

// key is where a file is exported to.
func key(prefix, path string) string {
	if prefix = strings.Trim(prefix, "/"); prefix == "" {
		return path
	}
	return prefix + "/" + path
}

// pathOf is the file of a key below the prefix.
func pathOf(prefix, key string) string {
	if prefix = strings.Trim(prefix, "/"); prefix == "" {
		return key
	}
	return strings.TrimPrefix(key, prefix+"/")
}

// Objects looks at all objects below the prefix, by key, with their metadata. What is known from before and has the
// same version is not asked about again.
func Objects(ctx context.Context, s store.Store, prefix string, known map[string]store.Object) (map[string]store.Object, error) {
	found := map[string]store.Object{}
	var mu sync.Mutex // guards found
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(looksAtOnce)
	list := func() error {
		for o, err := range s.List(ctx, key(prefix, "")) {
			if err != nil {
				return err
			}
			if k, ok := known[o.Key]; ok && k.Version == o.Version && k.SizeBytes == o.SizeBytes {
				o.Meta, o.SHA256 = k.Meta, k.SHA256
				mu.Lock()
				found[o.Key] = o
				mu.Unlock()
				continue
			}
			group.Go(func() error {
				o, err := s.Head(ctx, o.Key)
				if errors.Is(err, store.ErrNotFound) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				found[o.Key] = lean(o)
				return err
			})
		}
		return nil
	}
	err := list()
	if waited := group.Wait(); waited != nil {
		err = waited
	}
	return found, err
}
