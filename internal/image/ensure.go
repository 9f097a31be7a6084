package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/image/source"
	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// EnsureOptions say which image a user's step needs.
type EnsureOptions struct {
	URI string
	// Dir is a directory of the user's own on storage that all nodes share, such
	// as UserDir makes.
	Dir string
	// Key is the same for all who must get the same image, such as the nodes of a
	// step: what a tag means is then found out once for all of them.
	Key string
	// Limit is how many bytes of images the directory keeps; 0 is a default.
	Limit    int64
	Source   source.Options
	Version  string
	Progress *Progress
}

// keepFor is how long an image is kept at least, since a node may still run it.
const keepFor = 7 * 24 * time.Hour

// UserDir is where the calling user's images of URIs are kept in a directory of images.
// It is made if there is none.
func UserDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of images: %w", err)
	}
	uid := os.Geteuid()
	mine, err := own.Make(dir, fmt.Sprintf(".user-%d", uid), uid)
	if err != nil {
		return "", fmt.Errorf("make a directory for your images: %w", err)
	}
	return mine, nil
}

// FindUserDir is where the calling user's images of URIs are, "" if there is no such
// directory.
func FindUserDir(dir string) string {
	uid := os.Geteuid()
	return own.Find(dir, fmt.Sprintf(".user-%d", uid), uid)
}

// Ensure brings the image of a URI into a user's directory, unless it is there,
// and returns its file. It runs as the user. Called on many nodes at once, one
// does the work while the others wait; with the same key, one alone asks the
// registry, and its failure is everybody's.
func Ensure(ctx context.Context, o EnsureOptions) (path string, err error) {
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	ref, err := source.Parse(o.URI)
	if err != nil {
		return "", err
	}
	if err := own.Check(o.Dir, os.Geteuid()); err != nil {
		return "", err
	}
	e := ensured{EnsureOptions: o, ref: ref, file: filepath.Join(o.Dir, ".refs", recordName(ref, o.Source.Arch))}
	if err := os.MkdirAll(filepath.Dir(e.file), 0o700); err != nil {
		return "", err
	}
	for wait := lockWait; ; wait = min(2*wait, lockWaitMost) {
		if path, err, ok := e.answer(); ok {
			return path, err
		}
		unlock, err := lock(ctx, e.file+".lock", nil)
		if err == nil {
			defer unlock()
			return e.do(ctx)
		}
		if !errors.Is(err, errLocked) {
			return "", err
		}
		o.Progress.begin(Waiting, 0)
		if err := pause.For(ctx, wait); err != nil {
			return "", err
		}
	}
}

// recordName is the file's name for what a URI meant.
func recordName(ref source.Ref, arch string) string {
	platform, _ := source.ParsePlatform(arch)
	sum := sha256.Sum256([]byte(ref.User + "@" + ref.String() + " " + platform.String()))
	return hex.EncodeToString(sum[:16])
}

// ensured is an image that is being brought.
type ensured struct {
	EnsureOptions
	ref source.Ref
	// file keeps the record.
	file string
}

// record is what a URI meant to those with a key.
type record struct {
	URI   string `json:"uri"`
	Key   string `json:"key"`
	Name  string `json:"name,omitempty"`
	Error string `json:"error,omitempty"`
}

// answer is what another one with our key has found out. A reference by digest
// always means the same.
func (e ensured) answer() (path string, err error, ok bool) {
	var r record
	data, err := whole.Read(e.file)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return "", nil, false
	}
	same := e.Key != "" && r.Key == e.Key
	switch {
	case same && r.Error != "":
		return "", errors.New(r.Error), true
	case same || e.ref.Digest != "" && r.Error == "":
		path = Path(e.Dir, r.Name)
		now := time.Now()
		return path, nil, r.Name != "" && os.Chtimes(path, now, now) == nil
	}
	return "", nil, false
}

// do brings the image and writes down how it went. The holder of the lock before us
// may have brought it already.
func (e ensured) do(ctx context.Context) (string, error) {
	if path, err, ok := e.answer(); ok {
		return path, err
	}
	name, err := e.bring(ctx)
	if ctx.Err() != nil {
		return "", err // that we were stopped is no answer for others
	}
	r := record{URI: e.URI, Key: e.Key, Name: name}
	if err != nil {
		r.Error = err.Error()
	}
	return Path(e.Dir, name), errors.Join(err, e.write(r))
}

func (e ensured) bring(ctx context.Context) (name string, err error) {
	o := ImportOptions{URI: e.URI, Dir: e.Dir, RootOwned: true, Source: e.Source, Version: e.Version, Progress: e.Progress}
	img, err := o.look(ctx, e.ref)
	if err != nil {
		return "", err
	}
	defer img.Close()
	o.Name = strings.Replace(img.Digest, ":", "-", 1)
	if _, err := o.bring(ctx, img); err != nil {
		return "", spaceHint(err, e.Dir)
	}
	now := time.Now()
	if err := os.Chtimes(Path(e.Dir, o.Name), now, now); err != nil {
		return "", err
	}
	return o.Name, e.trim(now)
}

// write replaces the record.
func (e ensured) write(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return whole.Write(e.file, data, 0o600)
}

// trim removes images that were not used for long, the oldest first, until the
// directory is within its limit.
func (e ensured) trim(now time.Time) error {
	all, err := List(e.Dir)
	if err != nil {
		return err
	}
	for _, i := range unused(all, limitOf(e.Limit, e.Dir), now) {
		if err := os.Remove(i.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unused are the images to remove to keep a limit.
func unused(all []Image, limit int64, now time.Time) []Image {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b Image) int { return a.Changed.Compare(b.Changed) })
	var sum int64
	for _, i := range all {
		sum += i.SizeBytes
	}
	for n, i := range all {
		if sum <= limit || now.Sub(i.Changed) < keepFor {
			return all[:n]
		}
		sum -= i.SizeBytes
	}
	return all
}
