package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

func TestDistrust(t *testing.T) {
	good := func() origin {
		return origin{
			file: fileFacts{path: "/i/x.sqsh", mode: unix.S_IFREG | 0o644, fsType: unix.EXT4_SUPER_MAGIC},
			dirs: []fileFacts{{path: "/", mode: unix.S_IFDIR | 0o755, fsType: unix.EXT4_SUPER_MAGIC}, {path: "/i", mode: unix.S_IFDIR | 0o755, fsType: unix.XFS_SUPER_MAGIC}},
			info: squashfs.Info{IDs: []uint32{0}},
		}
	}
	if why := good().distrust(); why != "" {
		t.Errorf("a good image: %s", why)
	}
	for name, row := range map[string]struct {
		change func(o *origin)
		want   string
	}{
		"users_file":        {func(o *origin) { o.file.uid = 1000 }, "/i/x.sqsh does not belong to root"},
		"group_writes":      {func(o *origin) { o.file.mode |= 0o020 }, "others than root may write /i/x.sqsh"},
		"others_write":      {func(o *origin) { o.file.mode |= 0o002 }, "others than root may write /i/x.sqsh"},
		"users_directory":   {func(o *origin) { o.dirs[1].uid = 1000 }, "/i does not belong to root"},
		"open_directory":    {func(o *origin) { o.dirs[1].mode |= 0o777 }, "others than root may write /i"},
		"sticky_directory":  {func(o *origin) { o.dirs[1].mode |= 0o1777 }, ""},
		"users_sticky":      {func(o *origin) { o.dirs[1].mode |= 0o1777; o.dirs[1].uid = 1000 }, "/i does not belong to root"},
		"sticky_file":       {func(o *origin) { o.file.mode |= 0o1002 }, "others than root may write /i/x.sqsh"},
		"fuse":              {func(o *origin) { o.file.fsType = 0x65735546 }, "/i/x.sqsh is not on a file system of this machine"},
		"nfs":               {func(o *origin) { o.file.fsType = unix.NFS_SUPER_MAGIC }, "/i/x.sqsh is not on a file system of this machine"},
		"directory_on_fuse": {func(o *origin) { o.dirs[1].fsType = 0x65735546 }, "/i is not on a file system of this machine"},
		"written":           {func(o *origin) { o.written = true }, "/i/x.sqsh is open for writing"},
		"other_owners":      {func(o *origin) { o.info.IDs = []uint32{0, 42} }, "files in /i/x.sqsh belong to others than root"},
		"no_owners":         {func(o *origin) { o.info.IDs = nil }, "files in /i/x.sqsh belong to others than root"},
	} {
		o := good()
		row.change(&o)
		if got := o.distrust(); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// TestKernelMountsOnlyRootsImages makes images in every way that must not reach the
// kernel and sees which reads them.
func TestKernelMountsOnlyRootsImages(t *testing.T) {
	fixture(t)
	place := func(t *testing.T) string {
		dir, err := os.MkdirTemp(shared.dir, "trust-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := copyFile(shared.trusted, dir+"/x.sqsh", 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	check := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name string
		make func(t *testing.T, dir string) (image string)
		by   string // what is said, empty for the kernel
	}{
		{"roots", func(_ *testing.T, dir string) string { return dir + "/x.sqsh" }, ""},
		{"link_to_roots", func(t *testing.T, dir string) string {
			link := filepath.Join(shared.dir, "other", filepath.Base(dir))
			check(t, os.Symlink(dir+"/x.sqsh", link))
			return link
		}, ""},
		{"users", func(t *testing.T, dir string) string {
			check(t, os.Chown(dir+"/x.sqsh", ordinary.UID, ordinary.GID))
			return dir + "/x.sqsh"
		}, "x.sqsh does not belong to root"},
		{"group_writable", func(t *testing.T, dir string) string {
			check(t, os.Chmod(dir+"/x.sqsh", 0o664))
			return dir + "/x.sqsh"
		}, "others than root may write"},
		{"in_writable_directory", func(t *testing.T, dir string) string {
			check(t, os.Chmod(dir, 0o777))
			return dir + "/x.sqsh"
		}, "others than root may write"},
		{"in_sticky_directory", func(t *testing.T, dir string) string {
			check(t, os.Chmod(dir, 0o777|os.ModeSticky))
			return dir + "/x.sqsh"
		}, ""},
		{"below_users_directory", func(t *testing.T, dir string) string {
			check(t, os.MkdirAll(dir+"/user/root", 0o755))
			check(t, os.Rename(dir+"/x.sqsh", dir+"/user/root/x.sqsh"))
			check(t, os.Chown(dir+"/user", ordinary.UID, ordinary.GID))
			return dir + "/user/root/x.sqsh"
		}, "user does not belong to root"},
		{"link_to_users", func(t *testing.T, dir string) string {
			check(t, os.Chown(dir+"/x.sqsh", ordinary.UID, ordinary.GID))
			check(t, os.Symlink("x.sqsh", dir+"/link.sqsh"))
			return dir + "/link.sqsh"
		}, "x.sqsh does not belong to root"},
		{"being_written", func(t *testing.T, dir string) string {
			f, err := os.OpenFile(dir+"/x.sqsh", os.O_WRONLY, 0)
			check(t, err)
			t.Cleanup(func() { f.Close() })
			return dir + "/x.sqsh"
		}, "is open for writing"},
		{"other_owners", func(t *testing.T, dir string) string {
			tree := dir + "/tree"
			check(t, os.CopyFS(tree, os.DirFS(shared.dir+"/tree/opt")))
			check(t, os.CopyFS(tree, os.DirFS(shared.dir+"/tree")))
			check(t, os.Chown(tree+"/etc", 42, 42))
			check(t, squash(tree, dir+"/owners.sqsh", "-no-xattrs"))
			check(t, os.RemoveAll(tree))
			return dir + "/owners.sqsh"
		}, "belong to others than root"},
		{"on_fuse", func(t *testing.T, dir string) string {
			check(t, os.Mkdir(dir+"/tree", 0o755))
			check(t, os.Rename(dir+"/x.sqsh", dir+"/tree/x.sqsh"))
			check(t, squash(dir+"/tree", dir+"/outer.sqsh"))
			return mountFuse(t, dir+"/outer.sqsh") + "/x.sqsh"
		}, "is not on a file system of this machine"},
	} {
		t.Run(row.name, func(t *testing.T) {
			image := row.make(t, place(t))
			for _, u := range []User{super, ordinary} {
				h := startHold(t, super, Options{Image: image, User: u, Verbose: true})
				if h.fields[0] != "ok" && row.name != "on_fuse" {
					t.Fatalf("%q", h.fields)
				}
				said := strings.Join(h.fields, "\n")
				byFuse := strings.Contains(said, "squashfuse reads the image, not the kernel")
				if byFuse != (row.by != "") || row.by != "" && !strings.Contains(said, row.by) {
					if row.name != "on_fuse" || u.UID == 0 { // FUSE shows root's mount to root alone
						t.Errorf("user %d: %q, want %q", u.UID, h.fields[5:], row.by)
					}
				}
				if h.fields[0] == "ok" && row.name == "roots" && fuseOf(t) != 0 {
					t.Error("there is a squashfuse")
				}
				if h.fields[0] == "ok" {
					if out, err := h.task("test -O /bin/sh || exit 3; cat /etc/passwd >/dev/null").CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
					}
				}
				h.end()
			}
		})
	}
}

// mountFuse mounts an image by squashfuse for the length of a test.
func mountFuse(t *testing.T, image string) string {
	t.Helper()
	at, err := os.MkdirTemp(shared.dir, "fuse-")
	if err != nil {
		t.Fatal(err)
	}
	program := must(hostProgram("squashfuse"))
	out, err := outputOf(program, image, at)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return at
}

// TestReplacedImage sees that what is mounted is what was looked at.
func TestReplacedImage(t *testing.T) {
	fixture(t)
	dir, err := os.MkdirTemp(shared.dir, "replaced-")
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(shared.trusted, dir+"/x.sqsh", 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir + "/x.sqsh")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := squashfs.Probe(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(shared.trusted, dir+"/y.sqsh", 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/y.sqsh", dir+"/x.sqsh"); err != nil {
		t.Fatal(err)
	}
	if o, err := lookAtOrigin(f, info); err == nil && o.distrust() == "" {
		t.Error("the image that took the place of another is trusted")
	}
}
