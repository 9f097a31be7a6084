// Package manifest is what a dataset in a bucket says of itself: a record of each file in a manifest, and a head that
// names the manifest and is put last.
//
// Its law: what it reads comes from outside. A path that leads out of the dataset, that stands out of order, or that is
// a file and a directory at once is refused while it is read, before anything is done with it.
package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Dir is where a dataset keeps its own, below its prefix. No file of a dataset is in there.
const Dir = ".muster"

// Record is a file of a dataset.
type Record struct {
	Path      string   `json:"path"`                 // below the prefix, with slashes
	SizeBytes int64    `json:"size"`                 // of the content
	ModTime   int64    `json:"mtime"`                // when the file changed, in ns since 1970
	SHA256    string   `json:"sha256"`               // of the content, in hex
	CRC64NVME string   `json:"crc64nvme"`            // of the content, in base64; "" if it is not known
	Version   string   `json:"version"`              // of the object, as store.Object has it
	Mode      uint32   `json:"mode"`                 // permission bits
	PartBytes int64    `json:"part_bytes,omitempty"` // of each part but the last, of what was sent in parts
	Parts     []string `json:"parts,omitempty"`      // CRC64NVME of each, in base64
}

// MostPath is how many bytes a path has at the most, as a key of S3.
const MostPath = 1024

const (
	mostSize    = 1 << 50 // bytes of a file, many times those of S3's largest object
	mostVersion = 1024    // bytes; S3's have less than 40
)

// CheckPath says why a path cannot be that of a file of a dataset.
func CheckPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case len(path) > MostPath:
		return fmt.Errorf("the path has %d bytes, and S3 takes %d at the most", len(path), MostPath)
	case !utf8.ValidString(path):
		return errors.New("the path is no UTF-8")
	case strings.IndexByte(path, 0) >= 0:
		return errors.New("the path has a zero byte")
	case path == Dir || strings.HasPrefix(path, Dir+"/"):
		return errors.New(Dir + " is the dataset's own")
	}
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "":
			return errors.New("a part of the path is empty")
		case ".", "..":
			return errors.New("a part of the path is " + part)
		}
		if Leftover(part) {
			return errors.New(part + " is a name of what is not fetched yet")
		}
	}
	return nil
}

// Leftover tells the names that pull and restore write under until all is proven. What has such a name was cut off: it is
// no part of a dataset, and a record of that name could take the place of another file while it comes.
func Leftover(name string) bool {
	return strings.HasPrefix(name, besideBegin) && strings.HasSuffix(name, besideEnd)
}

// Beside is the name of the file that another one is written to before it has its name. It is the same each time, so that
// what was cut off is found again.
func Beside(name string) string {
	sum := sha256.Sum256([]byte(name))
	return besideBegin + hex.EncodeToString(sum[:12]) + besideEnd
}

const (
	besideBegin = Dir + "-"
	besideEnd   = ".tmp"
)

// Key is the key of a dataset's file.
func Key(prefix, path string) string {
	if prefix = strings.Trim(prefix, "/"); prefix == "" {
		return path
	}
	return prefix + "/" + path
}

// HeadKey is the key of a dataset's head.
func HeadKey(prefix string) string { return Key(prefix, Dir+"/dataset.json") }

// ManifestKey is the key of a manifest, by the name that the head has for it.
func ManifestKey(prefix, name string) string { return Key(prefix, Dir+"/"+name) }

// Name is a manifest's name in the head, by an ID.
func Name(id string) string { return "manifests/" + id + ending }

const ending = ".jsonl.gz"

// check says what of a record cannot be.
func (r *Record) check() error {
	if err := CheckPath(r.Path); err != nil {
		return err
	}
	switch {
	case r.SizeBytes < 0:
		return fmt.Errorf("the size is %d", r.SizeBytes)
	case r.SizeBytes > mostSize:
		return fmt.Errorf("the size is %d, which no object has", r.SizeBytes)
	case !isVersion(r.Version):
		return fmt.Errorf("%.60q is no version of an object", r.Version)
	case r.Mode > 0o777:
		return fmt.Errorf("the mode is %o, which is more than permissions", r.Mode)
	case !isSHA256(r.SHA256):
		return fmt.Errorf("%q is no SHA-256", r.SHA256)
	case r.CRC64NVME != "" && !isCRC(r.CRC64NVME):
		return fmt.Errorf("%q is no CRC64NVME", r.CRC64NVME)
	}
	return r.checkParts()
}

func (r *Record) checkParts() error {
	if len(r.Parts) == 0 && r.PartBytes == 0 {
		return nil
	}
	if r.PartBytes <= 0 || int64(len(r.Parts)) != (r.SizeBytes-1)/r.PartBytes+1 || r.SizeBytes == 0 {
		return fmt.Errorf("%d parts of %d bytes do not make %d bytes", len(r.Parts), r.PartBytes, r.SizeBytes)
	}
	for _, crc := range r.Parts {
		if !isCRC(crc) {
			return fmt.Errorf("%q is no CRC64NVME", crc)
		}
	}
	return nil
}

// isVersion tells whether s can be an ETag, which goes into the head of requests: one with a line's end in it would be
// two lines there.
func isVersion(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return len(s) <= mostVersion
}

func isSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isCRC tells whether s is eight bytes in base64.
func isCRC(s string) bool {
	if len(s) != 12 || s[11] != '=' {
		return false
	}
	for i := range 11 {
		c := s[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}
