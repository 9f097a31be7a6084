package layer_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree reads everything that there is to know of a directory: for each name a
// line. Names of one inode show the first of them.
func tree(t testing.TB, top string) map[string]string {
	t.Helper()
	lines, first := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		lines[name], err = line(path, name, first)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func line(path, name string, first map[uint64]string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	s := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%v %04o %d:%d", info.Mode().Type(), s.Mode&0o7777, s.Uid, s.Gid)
	if !info.IsDir() {
		if first[s.Ino] == "" {
			first[s.Ino] = name
		}
		text += fmt.Sprintf(" links=%d of=%q size=%d", s.Nlink, first[s.Ino], s.Size)
	}
	switch info.Mode().Type() {
	case 0:
		sum, err := contentOf(path)
		if err != nil {
			return "", err
		}
		text += " " + sum
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" -> %q", target)
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		text += fmt.Sprintf(" dev=%d:%d", unix.Major(s.Rdev), unix.Minor(s.Rdev))
	}
	attributes, err := xattrs(path)
	return fmt.Sprintf("%s%s mtime=%d", text, attributes, info.ModTime().Unix()), err
}

func contentOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

func xattrs(path string) (string, error) {
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, buf)
	if errors.Is(err, unix.ENOTSUP) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list attributes of %q: %w", path, err)
	}
	text := ""
	names := strings.Split(strings.TrimRight(string(buf[:n]), "\x00"), "\x00")
	slices.Sort(names)
	for _, name := range names {
		if name == "" || name == "security.selinux" {
			continue
		}
		m, err := unix.Lgetxattr(path, name, buf)
		if errors.Is(err, unix.ENODATA) {
			continue // squashfuse, which gives it a wrong name
		}
		if err != nil {
			return "", fmt.Errorf("attribute %s of %q: %w", name, path, err)
		}
		text += fmt.Sprintf(" %s=%q", name, buf[:m])
	}
	return text, nil
}

// same compares two trees. Directories that no layer describes have the time
// of the unpacking in want, which is later than began, and any time in got.
func same(t *testing.T, how string, got, want map[string]string, began time.Time) {
	t.Helper()
	names := map[string]bool{}
	for name := range got {
		names[name] = true
	}
	for name := range want {
		names[name] = true
	}
	for name := range names {
		g, w := got[name], want[name]
		var at int64
		if i := strings.LastIndex(w, " mtime="); i >= 0 {
			fmt.Sscanf(w[i:], " mtime=%d", &at)
			if at >= began.Unix() {
				w, g = w[:i], g[:max(0, strings.LastIndex(g, " mtime="))]
			}
		}
		if g != w {
			t.Errorf("%s: %q\n got %s\nwant %s", how, name, g, w)
		}
	}
}

// plain takes the extended attributes out of a tree.
func plain(lines map[string]string) map[string]string {
	out := map[string]string{}
	for name, l := range lines {
		out[name] = attribute.ReplaceAllString(l, "")
	}
	return out
}

var attribute = regexp.MustCompile(` (user|trusted|security)\.[^=]*="(\\.|[^"\\])*"`)

// unpacked reads an image with unsquashfs.
func unpacked(t *testing.T, image string) map[string]string {
	t.Helper()
	return tree(t, unsquash(t, image))
}

func unsquash(t *testing.T, image string) string {
	t.Helper()
	top := filepath.Join(t.TempDir(), "unsquashed")
	command(t, "unsquashfs", "-quiet", "-no-progress", "-strict-errors", "-dest", top, image)
	return top
}

// mounted reads an image through the kernel.
func mounted(t *testing.T, image string) map[string]string {
	t.Helper()
	top := t.TempDir()
	command(t, "mount", "-t", "squashfs", "-o", "loop,ro", image, top)
	defer command(t, "umount", top)
	return tree(t, top)
}

// fused reads an image through squashfuse, without extended attributes: version
// 0.1.105 takes "security" for "trusted" and the reverse.
func fused(t *testing.T, image string) map[string]string {
	t.Helper()
	top := t.TempDir()
	command(t, "squashfuse_ll", image, top)
	defer command(t, "umount", top)
	return plain(tree(t, top))
}
