package squashfs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// need skips a test without root or a program; with MUSTER_CI that fails.
func need(t testing.TB, programs ...string) {
	t.Helper()
	lacks := ""
	if os.Geteuid() != 0 {
		lacks = "root"
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			lacks = p
		}
	}
	if lacks != "" && os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("this machine lacks %s", lacks)
	} else if lacks != "" {
		t.Skipf("this machine lacks %s", lacks)
	}
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func probe(t *testing.T, path string) (squashfs.Info, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return squashfs.Probe(f)
}

func TestProbeOfOtherImages(t *testing.T) {
	need(t, "mksquashfs")
	top := t.TempDir()
	for i, owner := range []int{0, 12, 4_000_000_000} {
		path := filepath.Join(top, string(rune('a'+i)))
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	for _, compression := range []string{"gzip", "zstd", "xz", "none"} {
		path := filepath.Join(t.TempDir(), "image")
		args := []string{top, path, "-quiet", "-no-progress", "-mkfs-time", "1234", "-comp", compression}
		if compression == "none" {
			args = append(args[:len(args)-1], "xz", "-noI")
		}
		command(t, "mksquashfs", args...)
		info, err := probe(t, path)
		if err != nil {
			t.Fatalf("%s: got %v", compression, err)
		}
		slices.Sort(info.IDs)
		if !slices.Equal(info.IDs, []uint32{0, 12, 4_000_000_000}) || info.OnlyRoot() || info.Inodes != 4 || !info.ModTime.Equal(time.Unix(1234, 0)) || info.BlockSize != 128<<10 {
			t.Errorf("%s: got %+v", compression, info)
		}
		command(t, "mksquashfs", append(args, "-noappend", "-all-root")...)
		if info, err := probe(t, path); err != nil || !info.OnlyRoot() {
			t.Errorf("%s: got %+v, %v", compression, info, err)
		}
	}
}

func TestProbeOfManyOwners(t *testing.T) {
	const n = 5000
	path := image(t, squashfs.Options{}, func(w *squashfs.Writer) (entries []squashfs.Entry) {
		for i := range uint32(n) {
			ref := add(t, w, squashfs.Inode{Number: i + 1, Type: squashfs.Socket, UID: i, GID: i, Links: 1})
			entries = append(entries, squashfs.Entry{Name: fmt.Sprintf("%06d", i), Ref: ref})
		}
		return entries
	})
	if info, err := probe(t, path); err != nil || len(info.IDs) != n || info.IDs[n-1] != n-1 || info.OnlyRoot() {
		t.Errorf("got %d owners, %v", len(info.IDs), err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[20] = 4 // xz
	block := binary.LittleEndian.Uint64(data[binary.LittleEndian.Uint64(data[48:]):])
	data[block+1] &^= 0x80 // compressed
	if _, err := squashfs.Probe(bytes.NewReader(data)); !errors.Is(err, squashfs.ErrCompression) {
		t.Errorf("got %v", err)
	}
}

func TestProbeRefusesWhatIsNoImage(t *testing.T) {
	good := small(t)
	for name, change := range map[string]func([]byte) []byte{
		"empty":              func([]byte) []byte { return nil },
		"short":              func(b []byte) []byte { return b[:95] },
		"cut":                func(b []byte) []byte { return b[:100] },
		"magic":              func(b []byte) []byte { b[0]++; return b },
		"version":            func(b []byte) []byte { b[28] = 3; return b },
		"block_size":         func(b []byte) []byte { b[12]++; return b },
		"block_log":          func(b []byte) []byte { b[22] = 99; return b },
		"compression":        func(b []byte) []byte { b[20] = 7; return b },
		"no_ids":             func(b []byte) []byte { b[26], b[27] = 0, 0; return b },
		"many_ids":           func(b []byte) []byte { b[26], b[27] = 0xff, 0xff; return b },
		"id_table_far":       func(b []byte) []byte { binary.LittleEndian.PutUint64(b[48:], math.MaxUint64); return b },
		"id_table_near":      func(b []byte) []byte { binary.LittleEndian.PutUint64(b[48:], 0); return b },
		"bytes_used":         func(b []byte) []byte { binary.LittleEndian.PutUint64(b[40:], 1<<63); return b },
		"id_block_elsewhere": func(b []byte) []byte { clear(b[binary.LittleEndian.Uint64(b[48:]):]); return b },
	} {
		if _, err := squashfs.Probe(bytes.NewReader(change(bytes.Clone(good)))); !errors.Is(err, squashfs.ErrFormat) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzProbe changes an image anywhere: Probe answers, and takes little memory.
func FuzzProbe(f *testing.F) {
	good := small(f)
	f.Add(good)
	f.Add(good[:96])
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := squashfs.Probe(bytes.NewReader(data))
		if err == nil && (len(info.IDs) == 0 || len(info.IDs) > math.MaxUint16 || info.BytesUsed <= 0) {
			t.Errorf("got %+v", info)
		}
	})
}
