package squashfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// image writes an image of what make adds to the root directory.
func image(t testing.TB, o squashfs.Options, fill func(*squashfs.Writer) []squashfs.Entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o.DataEnd = max(o.DataEnd, squashfs.DataStart)
	w := squashfs.NewWriter(f, o)
	entries := fill(w)
	top := squashfs.Inode{Number: uint32(len(entries)) + 1, Type: squashfs.Dir, Mode: 0o755, Links: 2}
	root, err := w.Directory(&top, entries, top.Number+1)
	if err != nil {
		t.Fatal(err)
	}
	used, err := w.Close(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate((used + 4095) &^ 4095); err != nil {
		t.Fatal(err)
	}
	return path
}

// small is an image of two files with owners.
func small(t testing.TB) []byte {
	path := image(t, squashfs.Options{ModTime: time.Unix(5, 0)}, func(w *squashfs.Writer) []squashfs.Entry {
		return []squashfs.Entry{
			{Name: "a", Ref: add(t, w, squashfs.Inode{Number: 1, Type: squashfs.Fifo, UID: 7, Links: 1})},
			{Name: "b", Ref: add(t, w, squashfs.Inode{Number: 2, Type: squashfs.Symlink, Target: "a", GID: 8, Links: 1})},
		}
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func add(t testing.TB, w *squashfs.Writer, i squashfs.Inode) squashfs.Ref {
	t.Helper()
	ref, err := w.Inode(&i)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// The kernel finds each name of a directory whose list takes many metadata
// blocks, through its index.
func TestLargeDirectories(t *testing.T) {
	need(t, "unsquashfs", "mount")
	const n = 70_000
	path := image(t, squashfs.Options{}, func(w *squashfs.Writer) (entries []squashfs.Entry) {
		for i := range n {
			number := uint32(i + 1)
			if i >= n/2 { // far from their neighbours'
				number = uint32(n/2 + i*7919%(n/2) + 1)
			}
			ref := add(t, w, squashfs.Inode{Number: number, Type: squashfs.Symlink, Target: fmt.Sprint(i), Links: 1})
			entries = append(entries, squashfs.Entry{Name: fmt.Sprintf("%06d%s", i, strings.Repeat("x", i%100)), Ref: ref})
		}
		return entries
	})
	if lines := strings.Count(command(t, "unsquashfs", "-lc", path), "\n"); lines != n {
		t.Errorf("unsquashfs lists %d lines", lines)
	}
	at := t.TempDir()
	command(t, "mount", "-t", "squashfs", "-o", "loop,ro", path, at)
	defer command(t, "umount", at)
	if list, err := os.ReadDir(at); err != nil || len(list) != n {
		t.Errorf("the kernel lists %d names, %v", len(list), err)
	}
	for i := 0; i < n; i += 97 {
		target, err := os.Readlink(filepath.Join(at, fmt.Sprintf("%06d%s", i, strings.Repeat("x", i%100))))
		if err != nil || target != fmt.Sprint(i) {
			t.Fatalf("%d: got %q, %v", i, target, err)
		}
	}
}

// A block that lies beyond 4 GiB in the image, and a file of more than 4 GiB.
func TestLargePlaces(t *testing.T) {
	need(t, "unsquashfs", "mount")
	const place = 5 << 30
	const blocks = 4<<30/squashfs.BlockSize + 1
	data := []byte(strings.Repeat("far away ", 20_000))[:squashfs.BlockSize]
	stored, word := squashfs.NewEncoder().Block(data, nil)
	words := make([]uint32, blocks)
	words[0], words[blocks-1] = word, word
	end := int64(place + 2*len(stored))
	o := squashfs.Options{DataEnd: end + int64(len(stored)), Fragments: []squashfs.Fragment{{Start: uint64(end), Word: word}}}
	path := image(t, o, func(w *squashfs.Writer) []squashfs.Entry {
		c := squashfs.Content{Size: blocks * squashfs.BlockSize, Start: place, Blocks: words, Fragment: squashfs.NoFragment}
		s := squashfs.Content{Size: 8, Fragment: 0, Offset: 9}
		return []squashfs.Entry{
			{Name: "large", Ref: add(t, w, squashfs.Inode{Number: 1, Type: squashfs.File, Mode: 0o644, Links: 1, Content: c})},
			{Name: "small", Ref: add(t, w, squashfs.Inode{Number: 2, Type: squashfs.File, Mode: 0o644, Links: 1, Content: s})},
		}
	})
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 3 {
		if _, err := f.WriteAt(stored, place+int64(i*len(stored))); err != nil {
			t.Fatal(err)
		}
	}
	if got := command(t, "unsquashfs", "-cat", path, "small"); got != "far away" {
		t.Errorf("got %q", got)
	}
	at := t.TempDir()
	command(t, "mount", "-t", "squashfs", "-o", "loop,ro", path, at)
	defer command(t, "umount", at)
	large, err := os.Open(filepath.Join(at, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	got := make([]byte, squashfs.BlockSize)
	for _, row := range []struct {
		block int64
		want  []byte
	}{{0, data}, {1, make([]byte, len(data))}, {blocks - 1, data}} {
		if _, err := large.ReadAt(got, row.block*squashfs.BlockSize); err != nil || !bytes.Equal(got, row.want) {
			t.Errorf("block %d: %v", row.block, err)
		}
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	w := squashfs.NewWriter(nil, squashfs.Options{})
	for name, i := range map[string]squashfs.Inode{
		"major":      {Number: 1, Type: squashfs.CharDevice, Major: 4096},
		"minor":      {Number: 1, Type: squashfs.BlockDevice, Minor: 1 << 20},
		"target":     {Number: 1, Type: squashfs.Symlink, Target: strings.Repeat("x", 4096)},
		"no_target":  {Number: 1, Type: squashfs.Symlink},
		"xattr_name": {Number: 1, Type: squashfs.Fifo, Xattrs: []squashfs.Xattr{{Name: "user." + strings.Repeat("x", 255)}}},
		"xattr_kind": {Number: 1, Type: squashfs.Fifo, Xattrs: []squashfs.Xattr{{Name: "system.x"}}},
		"xattr":      {Number: 1, Type: squashfs.Fifo, Xattrs: []squashfs.Xattr{{Name: "user.x", Value: string(make([]byte, 1<<17))}}},
	} {
		if _, err := w.Inode(&i); !errors.Is(err, squashfs.ErrTooBig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	top := squashfs.Inode{Number: 1, Type: squashfs.Dir}
	if _, err := w.Directory(&top, []squashfs.Entry{{Name: strings.Repeat("x", 256)}}, 2); !errors.Is(err, squashfs.ErrTooBig) {
		t.Errorf("name: got %v", err)
	}
	var err error
	for id := range uint32(70_000) {
		if _, err = w.Inode(&squashfs.Inode{Number: id + 1, Type: squashfs.Fifo, UID: id}); err != nil {
			break
		}
	}
	if !errors.Is(err, squashfs.ErrTooBig) {
		t.Errorf("owners: got %v", err)
	}
	if _, err := w.Inode(&squashfs.Inode{Type: 99}); err == nil {
		t.Error("a type that there is not is taken")
	}
}

// What is stored for a block depends on nothing else, and comes back.
func TestBlocksDependOnThemselvesAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	used, d := squashfs.NewEncoder(), squashfs.NewDecoder()
	var buf []byte
	for range 60 {
		block := make([]byte, 1+r.IntN(squashfs.BlockSize))
		letters := 1 + r.IntN(256)
		for i := range block {
			block[i] = byte(r.IntN(letters))
		}
		if r.IntN(3) == 0 {
			copy(block[len(block)/2:], block)
		}
		stored, word := used.Block(block, buf)
		fresh, freshWord := squashfs.NewEncoder().Block(block, nil)
		if word != freshWord || !bytes.Equal(stored, fresh) || squashfs.StoredSize(word) != len(stored) {
			t.Fatalf("a block of %d bytes is stored in two ways", len(block))
		}
		back, err := d.Block(stored, word, nil)
		if err != nil || !bytes.Equal(back, block) {
			t.Fatalf("a block of %d bytes does not come back: %v", len(block), err)
		}
	}
}

func TestDecoderRefusesMoreThanABlock(t *testing.T) {
	bomb, word := squashfs.NewEncoder().Block(make([]byte, squashfs.BlockSize), nil)
	if _, err := squashfs.NewDecoder().Block(append(bytes.Clone(bomb), bomb...), 2*word, nil); err == nil {
		t.Error("two blocks are taken for one")
	}
}
