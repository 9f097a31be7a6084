package layer_test

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/image/squashfs"
)

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// random is content that is stored as it is, so that it can be found again.
func random(size int) string {
	b := make([]byte, size)
	rand.Read(b)
	return string(b)
}

func TestNothingDeletedRemains(t *testing.T) {
	const block = 128 << 10
	var lower, upper []item
	secrets := map[string]string{}
	for _, size := range []int{300, 20_000, block - 1, block, 5*block + 3} {
		for _, way := range []string{"whiteout", "replaced", "opaque/x", "dir", "elsewhere"} {
			name := way + string(rune('0'+len(lower)%10)) + string(rune('a'+len(lower)/10))
			secrets[name] = random(size)
			lower = append(lower, file(name, secrets[name]), file(name+".kept", random(700)))
			switch way {
			case "whiteout":
				upper = append(upper, whiteout(name))
			case "dir":
				upper = append(upper, dir(name))
			case "elsewhere":
				upper = append(upper, whiteout(name), file("also"+name, secrets[name]))
			default:
				upper = append(upper, file(name, "new"))
			}
		}
	}
	low, up := tarball(t, lower...), tarball(t, upper...)
	alone, _ := image(t, low)
	both, _ := image(t, low, up)
	before, after := contents(t, alone), contents(t, both)
	for name, secret := range secrets {
		kept := strings.HasPrefix(name, "elsewhere")
		for at := 0; at+100 <= len(secret); at += block {
			piece := []byte(secret[at : at+100])
			if !bytes.Contains(before, piece) {
				t.Errorf("%s is not in the lower image, where the test looks for it", name)
			}
			if bytes.Contains(after, piece) != kept {
				t.Errorf("%s of %d bytes: in the image is %v, want %v", name, len(secret), !kept, kept)
			}
		}
	}
}

func TestContentsAreStoredOnce(t *testing.T) {
	const block = 128 << 10
	large, small := random(3*block+1000), random(1000)
	image1, _ := image(t, tarball(t, file("a", large), file("b", small), file("z", random(50))))
	image2, r := image(t,
		tarball(t, file("a", large), file("b", small), file("c", large), file("d", small), file("z", random(50))),
		tarball(t, file("e", large), file("f", small), file("b", small), file("y", random(50))),
		tarball(t, whiteout("a")))
	if r.Duplicates != 3 {
		t.Errorf("%d duplicates", r.Duplicates)
	}
	if one, two := len(contents(t, image1)), len(contents(t, image2)); two > one+4096 {
		t.Errorf("%d bytes with duplicates, %d without", two, one)
	}
}

// The same layers give the same bytes, in whatever order they are read.
func TestImagesAreReproducible(t *testing.T) {
	var tars [][]byte
	for n := range 6 {
		items := many("d", 200)
		items = append(items, file("big", big(uint64(n), 1<<20)), whiteout("d/a"), file("x"+string(rune('0'+n)), "x").owned(n, n))
		tars = append(tars, tarball(t, items...))
	}
	first, _ := image(t, tars...)
	want := contents(t, first)
	c, _ := open(t)
	var digests []string
	for i := range tars {
		n := len(tars) - 1 - i
		digests = append(build(t, c, tars[n]), digests...)
	}
	again, _ := assemble(t, c, digests, nil, layer.Options{Time: epoch})
	if !bytes.Equal(contents(t, again), want) {
		t.Error("the images differ")
	}
}

func TestExtraFilesAndOwners(t *testing.T) {
	need(t, "unsquashfs")
	c, _ := open(t)
	digests := build(t, c, tarball(t, dir("etc").owned(3, 4).at(77), file("etc/rc", "old").owned(5, 6), symlink("run", "var/run"), dir("."), symlink("link", "etc")))
	when := time.Unix(1_600_000_000, 0)
	extra := []layer.File{
		{Name: "etc/rc", Mode: 0o755, ModTime: when, Data: []byte("#!/bin/sh\n")},
		{Name: "run/x", Mode: 0o600, UID: 7, GID: 8, ModTime: when, Data: []byte(random(200_000))},
		{Name: "link/sym", Mode: 0o777 | fs.ModeSymlink, ModTime: when, Link: "rc"},
		{Name: "new", Mode: 0o700 | fs.ModeDir, ModTime: when},
	}
	for owners, want := range map[layer.Owners][]string{
		layer.KeepOwners: {"drwxr-xr-x 3/4 etc", "-rwxr-xr-x 0/0 etc/rc", "lrwxrwxrwx 0/0 etc/sym -> rc", "drwxr-xr-x 0/0 var/run", "-rw------- 7/8 var/run/x", "drwx------ 0/0 new"},
		layer.RootOwners: {"drwxr-xr-x 0/0 etc", "-rwxr-xr-x 0/0 etc/rc", "-rw------- 0/0 var/run/x"},
	} {
		path, r := assemble(t, c, digests, extra, layer.Options{Owners: owners, Time: when})
		listing := command(t, "unsquashfs", "-lln", path)
		for _, line := range want {
			fields := strings.Fields(line)
			found := false
			for got := range strings.Lines(listing) {
				found = found || strings.HasPrefix(got, fields[0]+" "+fields[1]+" ") && strings.HasSuffix(got, "squashfs-root/"+strings.Join(fields[2:], " ")+"\n")
			}
			if !found {
				t.Errorf("no %q in\n%s", line, listing)
			}
		}
		if r.OnlyRoot != (owners == layer.RootOwners) {
			t.Errorf("%+v", r)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if info, err := squashfs.Probe(f); err != nil || info.OnlyRoot() != r.OnlyRoot || info.BytesUsed != r.BytesUsed || info.Inodes != r.Inodes || !info.ModTime.Equal(when) {
			t.Errorf("%+v %v", info, err)
		}
	}
}
