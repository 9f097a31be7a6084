package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/malformed"
)

// States of a dataset.
//
//	(no head) --commit--> whole --first object is replaced--> changing --commit--> whole
const (
	Whole    = "whole"    // all that the manifest names is there
	Changing = "changing" // objects that the manifest names are being replaced, or that was cut off
)

// format is what this program reads and writes.
const format = 1

// Head is the object that makes a prefix a dataset.
type Head struct {
	Format         int       `json:"format"`
	State          string    `json:"state"`
	Manifest       string    `json:"manifest"` // its name, below Dir
	ManifestSHA256 string    `json:"manifest_sha256"`
	Files          int64     `json:"files"`
	Bytes          int64     `json:"bytes"`
	Committed      time.Time `json:"committed"`
}

// ParseHead reads a head and refuses one that no reader may follow.
func ParseHead(text []byte) (Head, error) {
	var h Head
	if err := json.Unmarshal(text, &h); err != nil {
		return Head{}, fmt.Errorf("read head: %w", malformed.JSON(err))
	}
	if err := h.check(); err != nil {
		return Head{}, fmt.Errorf("read head: %w", err)
	}
	return h, nil
}

func (h Head) check() error {
	id, ok := strings.CutPrefix(strings.TrimSuffix(h.Manifest, ending), "manifests/")
	switch {
	case h.Format != format:
		return fmt.Errorf("it has format %d, and this muster knows %d", h.Format, format)
	case h.State != Whole && h.State != Changing:
		return fmt.Errorf("%q is no state of a dataset", h.State)
	case !ok || !strings.HasSuffix(h.Manifest, ending) || strings.Contains(id, "/") || CheckPath(id) != nil:
		return fmt.Errorf("%q is no name of a manifest", h.Manifest)
	case !isSHA256(h.ManifestSHA256):
		return fmt.Errorf("%q is no SHA-256", h.ManifestSHA256)
	case h.Files < 0 || h.Bytes < 0:
		return errors.New("it counts less than no files or bytes")
	}
	return nil
}

// Encode is a head as it is stored. The format is this program's.
func (h Head) Encode() []byte {
	h.Format = format
	h.Committed = h.Committed.UTC()
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		panic(err) // nothing in it cannot be said, but a year beyond 9999
	}
	return append(text, '\n')
}
