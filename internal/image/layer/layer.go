// Package layer turns the layers of an image into one squashfs file without
// unpacking them.
//
//	layer (tar, gzip, zstd) ──Build──▶ segment: compressed blocks and an index, in the cache
//	segments, lower..upper ──merge──▶ the image's tree ──Assemble──▶ squashfs
//
// A segment is kept by its layer's digest, and committed only after the
// layer's digest, size and diff_id were verified while it was read. The tree
// is the one that a careful unpacker makes as root: whiteouts, opaque
// directories, hard links, replaced files, entries below symlinks, which never
// leave the root. The image holds each content once, and nothing that an
// upper layer deleted. What squashfs cannot hold is left out: POSIX access
// lists, and times before 1970 or after 2106.
//
// Layers that are too strange or too large are refused with an Error. Memory does not
// grow with the size of files, only with the number of entries, by some 200
// bytes each; a caller who sets a soft limit of about 160 MB for Go's heap
// (debug.SetMemoryLimit) stays below 250 MB with a million of them.
package layer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Descriptor says which layer it is and what it has to be.
type Descriptor struct {
	// MediaType is what the manifest says; the layer's own first bytes decide.
	MediaType string
	// Digest is "sha256:" and 64 hexadecimal digits, of the bytes as they come.
	Digest string
	// Size is the number of these bytes; 0 or less: not known.
	Size int64
	// DiffID is the digest of the tar; "": not known.
	DiffID string
}

// Opener starts reading a layer.
type Opener func(context.Context) (io.ReadCloser, error)

// BuildOptions say how a layer is built. The zero value is fine.
type BuildOptions struct {
	Limits Limits
	// Progress is told after each read how many compressed bytes have come so
	// far, never twice at once. It has to be quick.
	Progress func(read int64)
}

// Limits stop a layer that is a bomb. Zero fields have defaults.
type Limits struct {
	// Bytes is the most that a layer's tar may have, and its files together
	// (512 GiB).
	Bytes int64
	// Ratio is how many bytes of tar a compressed byte may become (1100, a
	// little more than gzip can), once the tar is larger than FreeBytes (8 GiB).
	Ratio, FreeBytes int64
	// Entries is the most entries of a layer (1,000,000).
	Entries int64
	// Index is the most bytes that the names and attributes of a layer's
	// entries may take (128 MiB).
	Index int64
}

func (l Limits) withDefaults() Limits {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.Bytes, 512<<30)
	set(&l.Ratio, 1100)
	set(&l.FreeBytes, 8<<30)
	set(&l.Entries, 1_000_000)
	set(&l.Index, 128<<20)
	return l
}

// Why a layer or an image was refused. An Error wraps one of them, or what
// reading or writing returned.
var (
	ErrMissing = errors.New("the layer is not in the cache")
	ErrDigest  = errors.New("wrong digest")
	ErrSize    = errors.New("wrong size")
	ErrDiffID  = errors.New("wrong diff_id")
	ErrStream  = errors.New("damaged layer")
	ErrEntry   = errors.New("entry refused")
	ErrLimit   = errors.New("limit exceeded")
)

// Error says which layer and entry a problem is about.
type Error struct {
	Digest string
	Entry  string // "": it is about the whole layer
	Err    error
}

// Error shows the entry's name quoted, because layers may be hostile.
func (e *Error) Error() string {
	if e.Entry == "" {
		return fmt.Sprintf("layer %s: %v", e.Digest, e.Err)
	}
	return fmt.Sprintf("layer %s: entry %.300q: %v", e.Digest, e.Entry, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// digestBytes is the part of a digest behind "sha256:".
func digestBytes(digest string) ([]byte, error) {
	text, ok := strings.CutPrefix(digest, "sha256:")
	b, err := hex.DecodeString(text)
	if !ok || err != nil || len(b) != 32 || text != strings.ToLower(text) {
		return nil, fmt.Errorf("%.100q is no sha256 digest", digest)
	}
	return b, nil
}
