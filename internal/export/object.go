package export

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
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

// metadata are the file's, and of a part of a checkpoint how many there are: who reads the bucket knows by it whether all
// came.
func (s Step) metadata() map[string]string {
	m := metadata(s.File)
	if s.Parts > 0 {
		m[checkpoint.MetaParts] = fmt.Sprint(s.Parts)
	}
	return m
}

func metadata(f File) map[string]string {
	return map[string]string{
		metaModTime: modTimeText(f),
		metaMode:    fmt.Sprintf("%07o", f.Mode),
		metaOwner:   fmt.Sprint(f.UID),
		metaGroup:   fmt.Sprint(f.GID),
		metaSelf:    selfIs(f).String(),
	}
}

// self tells a file from one that took its place, or that was written again under its old date: the directory that was
// looked at, the file in it, and when the kernel saw it change.
type self struct {
	Home, Inode uint64
	Change      int64
}

func selfIs(f File) self { return self{f.Home, f.Inode, int64(f.Change)} }

func (s self) String() string { return fmt.Sprintf("%d-%d-%d", s.Home, s.Inode, s.Change) }

// selfOf reads what metadata say of the file; the zero one if that is nothing.
func selfOf(meta map[string]string) (s self) {
	parts := strings.SplitN(meta[metaSelf], "-", 3)
	if len(parts) < 3 {
		return self{}
	}
	var errs [3]error
	s.Home, errs[0] = strconv.ParseUint(parts[0], 10, 64)
	s.Inode, errs[1] = strconv.ParseUint(parts[1], 10, 64)
	s.Change, errs[2] = strconv.ParseInt(parts[2], 10, 64)
	if errors.Join(errs[:]...) != nil {
		return self{}
	}
	return s
}

// version tells an object's content from others, in as few bytes for each of very many: S3's usual ETag is 16 bytes
// in hex, and of any other text these are the first of its SHA-256.
type version [16]byte

func versionOf(text string) version {
	var v version
	if text == "" {
		return v
	}
	if len(text) == 34 && text[0] == '"' && text[33] == '"' && strings.ToLower(text) == text {
		if _, err := hex.Decode(v[:], []byte(text[1:33])); err == nil {
			return v
		}
	}
	sum := sha256.Sum256([]byte(text))
	copy(v[:], sum[:])
	return v
}

// String is a text of which versionOf makes the same version.
func (v version) String() string {
	if v == (version{}) {
		return ""
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%x", v[:]))
}

// object is what decisions need of an object. There may be very many.
type object struct {
	Version   version
	SizeBytes int64
	Modified  int64  // when it was put, in nanoseconds since 1970
	ModTime   int64  // of the file that was exported, in the same; noTime if no export put it
	Self      self   // which file that was
	Sum       uint64 // of the text of its SHA-256, or of the place's checksum where it has none; see sumOf
}

// lean makes an object of what the store says of it.
func lean(o store.Object) object {
	return object{Version: versionOf(o.Version), SizeBytes: o.SizeBytes, Modified: o.Modified.UnixNano(),
		ModTime: modTimeOf(o.Meta), Self: selfOf(o.Meta), Sum: sumOf(cmp.Or(o.SHA256, o.CRC64NVME))}
}

func (o object) seconds() int64 { return time.Unix(0, o.Modified).Unix() }

// sumOf is enough of a checksum to compare what a link says; 0 if there is none.
func sumOf(text string) uint64 {
	if text == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// doubtful says that a file of the size and date of its object may have another content: since it was exported, it or
// its mode was touched. Of files that came from elsewhere, as by an import, there is nothing to tell it by.
func doubtful(f File, o object) bool {
	return f.Link == "" && o.Sum != 0 && o.Self != (self{}) && o.Self.Home == f.Home && o.Self != selfIs(f)
}

func modTimeText(f File) string { return fmt.Sprintf("%dns", int64(f.ModTime)) }

// exported says that an object is the file as it is. An object that was not put by an export counts if it is of the
// same size and no older than the file.
func exported(f File, o object) bool {
	if o.SizeBytes != f.SizeBytes {
		return false
	}
	if f.Link != "" {
		return o.Sum == sumOf(fmt.Sprintf("%x", sha256.Sum256([]byte(f.Link))))
	}
	if own(o) {
		return o.ModTime == int64(f.ModTime)
	}
	return int64(f.ModTime) <= o.Modified
}

// own says that an export put the object.
func own(o object) bool { return o.ModTime != noTime }

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

// within is the file of a key, if it is below the prefix.
func within(prefix, k string) (string, bool) {
	return pathOf(prefix, k), strings.HasPrefix(k, key(prefix, ""))
}

// listed are all objects below a key, by path. What is known from before and has the same version is as it was; of what
// is not, the record may remember something.
func (l look) listed(ctx context.Context, below string, known map[string]object) (map[string]object, error) {
	found := make(map[string]object, len(known))
	for listed, err := range l.List(ctx, below) {
		if err != nil {
			return found, err
		}
		p, o := l.name(listed.Key), lean(listed)
		if was, ok := known[p]; ok && was.Version == o.Version && was.SizeBytes == o.SizeBytes {
			was.Modified = o.Modified
			found[p] = was
			continue
		}
		o.Sum = unasked
		if k, ok := l.known[p]; ok && k.is(o) {
			o = k.remembered(o, l.tree.home)
		}
		found[p] = o
	}
	return found, nil
}

// look is a look at the bucket. Its paths are those of the files, so that no name is kept twice.
type look struct {
	store.Store
	prefix string
	tree   *Tree
	known  map[string]Known
}

func (l look) name(k string) string {
	p := pathOf(l.prefix, k)
	if f, ok := l.tree.file(p); ok {
		return f.Path
	}
	return strings.Clone(p)
}
