package storetest

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/muster-hpc/muster/internal/store"
)

func (f *Fake) inParts(u store.Upload) bool { return f.PartBytes > 0 && u.SizeBytes > f.PartBytes }

func told(whom func(int64), bytes int64) {
	if whom != nil {
		whom(bytes)
	}
}

// readParts takes a content in parts, but for those that came before.
func (f *Fake) readParts(ctx context.Context, u store.Upload, id string, body []byte) error {
	for i := range f.count(u.SizeBytes) {
		part := f.part(body, i)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if _, err := io.ReadFull(io.NewSectionReader(u.Body, int64(i)*f.PartBytes, int64(len(part))), part); err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
		if f.took(id, i, crcOf(part)) {
			told(u.Sent, int64(len(part)))
		} else {
			told(u.Kept, int64(len(part)))
		}
	}
	return nil
}

// upload is the one to go on with, or a new one, or "" for what goes as a whole.
func (f *Fake) upload(u store.Upload) (string, error) {
	if !f.inParts(u) {
		return "", nil
	}
	f.mu.Lock()
	_, known := f.uploads[u.Resume]
	if known && u.Resume != "" {
		f.mu.Unlock()
		return u.Resume, nil
	}
	if f.uploads == nil {
		f.uploads = map[string][]string{}
	}
	f.begun++
	id := fmt.Sprintf("upload-%d", f.begun)
	f.uploads[id] = make([]string, f.count(u.SizeBytes))
	f.mu.Unlock()
	if u.Begun != nil {
		return id, u.Begun(id)
	}
	return id, nil
}

// took keeps a part, and reports whether it is another one than came before.
func (f *Fake) took(id string, i int, crc string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := f.uploads[id]
	if i >= len(parts) || parts[i] == crc {
		return i >= len(parts)
	}
	parts[i] = crc
	return true
}

func (f *Fake) count(size int64) int { return int((size + f.PartBytes - 1) / f.PartBytes) }

func (f *Fake) part(body []byte, i int) []byte {
	from := int64(i) * f.PartBytes
	return body[from:min(from+f.PartBytes, int64(len(body)))]
}

func (f *Fake) partsOf(body []byte) []string {
	var crcs []string
	for i := range f.count(int64(len(body))) {
		crcs = append(crcs, crcOf(f.part(body, i)))
	}
	return crcs
}

func crcOf(b []byte) string {
	sums, err := store.Sum(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		panic("a body in memory cannot be read: " + err.Error())
	}
	return sums.CRC64NVME
}

// Uploads counts those in parts that are under way, or were cut off.
func (f *Fake) Uploads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.uploads)
}

func (f *Fake) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.uploads, id)
}

// Abort implements store.Store.
func (f *Fake) Abort(ctx context.Context, key, upload string) error {
	if err := context.Cause(ctx); err != nil {
		return failed("abort the upload of", key, err)
	}
	f.forget(upload)
	return nil
}
