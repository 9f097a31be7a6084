package image

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/muster-hpc/muster/internal/image/layer"
)

// Meta is what an image file says of itself behind its file system: where it
// came from and what its configuration asks for. All of it is empty for files
// that others made.
type Meta struct {
	Name string `json:"name,omitempty"`
	// Source is the reference that it was imported from, in full.
	Source string `json:"source,omitempty"`
	// Digest is the manifest's (of an archive of docker save the configuration's),
	// as sha256:HEX.
	Digest       string `json:"digest,omitempty"`
	ConfigDigest string `json:"config_digest,omitempty"`
	// Arch is as Go has it: amd64.
	Arch string `json:"arch,omitempty"`
	// Created is when the image was built, as it says.
	Created    time.Time         `json:"created,omitzero"`
	Labels     map[string]string `json:"labels,omitempty"`
	Env        []string          `json:"env,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	Workdir    string            `json:"workdir,omitempty"`
	User       string            `json:"user,omitempty"`
	Volumes    []string          `json:"volumes,omitempty"`
	Layers     []MetaLayer       `json:"layers,omitempty"`
	// Owners is "root" if all files were given to root.
	Owners   string    `json:"owners,omitempty"`
	Imported time.Time `json:"imported,omitzero"`
	// Saved is when a step wrote the file. It has no source then, and its configuration
	// is in its files.
	Saved time.Time `json:"saved,omitzero"`
	// Muster is the version that imported or saved it.
	Muster string `json:"muster,omitempty"`
	// UncompressedBytes is the size of all files.
	UncompressedBytes int64 `json:"uncompressed_bytes,omitempty"`
}

// MetaLayer is a layer of the image.
type MetaLayer struct {
	Digest    string `json:"digest"`
	SizeBytes int64  `json:"size_bytes"`
	DiffID    string `json:"diff_id"`
}

// The end of an image file: the file system, zeros up to a multiple of padTo, sumMagic
// and a checksum of all else, the metadata as JSON, its length in 8 bytes
// (little-endian), and magic. Files of older versions have no checksum.
const (
	padTo    = 4096
	magic    = "MUSTERIM"
	endSize  = 8 + len(magic)
	sumMagic = "MUSTERCK"
	sumSize  = len(sumMagic) + sha256.Size
	// maxMeta is more than any configuration that is accepted has.
	maxMeta = 16 << 20
)

// errTrailer is wrapped by errors about metadata that cannot be right.
var errTrailer = errors.New("the metadata at its end is damaged")

// writeTrailer adds padding, a checksum and metadata behind a file system of used bytes,
// of which some checksums are known, and cuts off what may come after.
func writeTrailer(ctx context.Context, f *os.File, used int64, known *layer.Written, m Meta) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(data) > maxMeta {
		return fmt.Errorf("the metadata has %d bytes; the limit is %d", len(data), maxMeta)
	}
	at := (used + padTo - 1) / padTo * padTo
	if err := f.Truncate(at); err != nil {
		return err
	}
	sum, err := checksum(ctx, f, at, known, data)
	if err != nil {
		return err
	}
	end := append([]byte(sumMagic), sum...)
	end = append(end, data...)
	end = binary.LittleEndian.AppendUint64(end, uint64(len(data)))
	_, err = f.WriteAt(append(end, magic...), at)
	return err
}

// checksum is one of a file's first bytes and of metadata.
func checksum(ctx context.Context, r io.ReaderAt, size int64, known *layer.Written, data []byte) ([]byte, error) {
	sums, err := layer.Sums(ctx, r, size, known)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, s := range sums {
		h.Write(binary.LittleEndian.AppendUint32(nil, s))
	}
	h.Write(data)
	return h.Sum(nil), nil
}

// readTrailer reads the metadata of an image file of size bytes. There is none
// if the file does not end as ours do.
func readTrailer(r io.ReaderAt, size int64) (m Meta, found bool, err error) {
	data, found, err := trailerOf(r, size)
	if err != nil || !found {
		return Meta{}, found, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return Meta{}, true, fmt.Errorf("%w: %w", errTrailer, err)
	}
	return m, true, nil
}

// trailerOf is the metadata's text.
func trailerOf(r io.ReaderAt, size int64) (data []byte, found bool, err error) {
	if size < int64(endSize) {
		return nil, false, nil
	}
	end := make([]byte, endSize)
	if _, err := r.ReadAt(end, size-int64(endSize)); err != nil && err != io.EOF {
		return nil, false, err
	}
	if string(end[8:]) != magic {
		return nil, false, nil
	}
	length := binary.LittleEndian.Uint64(end)
	if length > maxMeta || int64(length) > size-int64(endSize) {
		return nil, true, fmt.Errorf("%w: it says that it has %d bytes", errTrailer, length)
	}
	data = make([]byte, length)
	if _, err := r.ReadAt(data, size-int64(endSize)-int64(length)); err != nil && err != io.EOF {
		return nil, true, err
	}
	return data, true, nil
}

// ReadMeta reads the metadata of an image file. A squashfs that others made has
// none: then Meta is empty and found false. It says nothing about whether the
// file is a squashfs.
func ReadMeta(f *os.File) (m Meta, found bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return Meta{}, false, err
	}
	m, found, err = readTrailer(f, info.Size())
	if err != nil {
		err = fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return m, found, err
}
