package container

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseMounts(t *testing.T) {
	for _, row := range []struct {
		text string
		want []Mount
		err  string
	}{
		{text: "/a", want: []Mount{{Source: "/a", Target: "/a"}}},
		{text: "/a:/b", want: []Mount{{Source: "/a", Target: "/b"}}},
		{text: "/a:/b:ro+nosuid,./c:/d", want: []Mount{{Source: "/a", Target: "/b", Flags: []string{"ro", "nosuid"}}, {Source: "./c", Target: "/d"}}},
		{text: "/a:/b,/a:/b", want: []Mount{{Source: "/a", Target: "/b"}}},
		{text: "/a:/b,/a:/b:ro", want: []Mount{{Source: "/a", Target: "/b"}, {Source: "/a", Target: "/b", Flags: []string{"ro"}}}},
		{text: "/a:/b:", want: []Mount{{Source: "/a", Target: "/b"}}},
		{text: "tmpfs:/t:size=1m", want: []Mount{{Source: "tmpfs", Target: "/t", Flags: []string{"size=1m"}}}},
		{text: "umount:/sys", want: []Mount{{Source: "umount", Target: "/sys"}}},
		{text: "", err: "--mounts: argument required"},
		{text: ":/b", err: "--mounts: invalid format: :/b"},
		{text: "/a:", err: "--mounts: invalid format: /a:"},
		{text: "/a,,/b", err: "--mounts: invalid format: "},
		{text: "a:/b", err: "mount source must be a relative path"},
		{text: "/a:b", err: "mount target must be a relative path"},
		{text: "/a:/b:rO", err: `unknown mount flag "rO"`},
	} {
		got, err := ParseMounts(row.text)
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%q: error %v, want %s", row.text, err, row.err)
			}
			continue
		}
		if err != nil || !slices.EqualFunc(got, row.want, func(a, b Mount) bool {
			return a.String() == b.String() && slices.Equal(a.Flags, b.Flags)
		}) {
			t.Errorf("%q: %v, %v", row.text, got, err)
		}
	}
}

func TestMountPlan(t *testing.T) {
	for _, row := range []struct {
		flags string
		want  mountPlan
	}{
		{"", mountPlan{create: "auto", recursive: true, set: nosuid}},
		{"ro", mountPlan{create: "auto", recursive: true, set: nosuid | ro}},
		{"ro+rw", mountPlan{create: "auto", recursive: true, set: nosuid}},
		{"suid", mountPlan{create: "auto", recursive: true, set: nosuid}},
		{"x-create=file+bind+ro+nosuid+nodev+private", mountPlan{create: "file", recursive: true, set: nosuid | nodev | ro, propagation: unix.MS_PRIVATE}},
		{"rslave+nofail+silent", mountPlan{create: "auto", recursive: true, set: nosuid, propagation: unix.MS_SLAVE, propagates: true, mayFail: true, silent: true}},
	} {
		m := Mount{Source: "/a", Target: "/b", Flags: strings.FieldsFunc(row.flags, func(r rune) bool { return r == '+' })}
		got, err := m.plan()
		if err != nil || fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: %+v, %v; want %+v", row.flags, got, err, row.want)
		}
	}
}

func TestMounts(t *testing.T) {
	fixture(t)
	dir, err := os.MkdirTemp(shared.dir, "mounts-")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a/file": "a\n", "a/deep/file": "deep\n", "b/file": "b\n", "one": "one\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"", "a", "b", "a/deep"} {
		if err := os.Chmod(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ name, mounts, script, want string }{
		{"new_place", "A:/new/place", "cat /new/place/file /new/place/deep/file; rm -f /new/place/x; echo x > /new/place/x && cat /new/place/x", "a\ndeep\nx\n"},
		{"same_place", "A", "cat A/file", "a\n"},
		{"over_directory", "A:/opt", "cat /opt/file", "a\n"},
		{"file_on_file", "ONE:/opt/file", "cat /opt/file", "one\n"},
		{"file_on_nothing", "ONE:/x/y/z", "cat /x/y/z", "one\n"},
		{"read_only", "A:/x:ro", "cat /x/file; touch /x/y 2>/dev/null || echo refused", "a\nrefused\n"},
		{"nested", "A:/x,B:/x/deep", "cat /x/file /x/deep/file", "a\nb\n"},
		{"nested_in_read_only", "A:/x:ro,B:/x/deep", "touch /x/y 2>/dev/null; rm -f /x/deep/y; touch /x/deep/y && cat /x/deep/file", "b\n"},
		{"twice", "A:/x,B:/x", "cat /x/file", "b\n"},
		{"same_twice", "A:/x,A:/x", "cat /x/file; grep -c ' /x ' /proc/self/mountinfo", "a\n1\n"},
		{"through_link", "A:/opt/outside/x", "cat /etc/x/file", "a\n"},
		{"link_out", "A:/opt/up/opt/x", "cat /opt/x/file", "a\n"},
		{"dots", "A:/x/../../y", "cat /y/file", "a\n"},
		{"relative", "./a:./x", "cat /x/file", "a\n"},
		{"tmpfs", "tmpfs:/x:size=1m", "echo 1 > /x/y; cat /x/y; dd if=/dev/zero of=/x/z bs=1M count=2 2>/dev/null || echo full", "1\nfull\n"},
		{"umount", "umount:/sys", "ls /sys | wc -l", "0\n"},
		{"over_tmp", "A:/tmp/x", "cat /tmp/x/file", "a\n"},
		{"missing_allowed", "/nosuch:/x:nofail", "echo fine", "fine\n"},
	} {
		for _, w := range ways[1:] {
			t.Run(row.name+"/"+w.name, func(t *testing.T) {
				named := strings.NewReplacer("A", dir+"/a", "B", dir+"/b", "ONE", dir+"/one")
				mounts, err := ParseMounts(named.Replace(row.mounts))
				if err != nil {
					t.Fatal(err)
				}
				got := shell(t, w.user, Options{Image: w.image(), Mounts: mounts, Dir: dir}, named.Replace(row.script))
				if got != row.want {
					t.Errorf("got %q, want %q", got, row.want)
				}
			})
		}
	}
	if _, err := os.Stat(dir + "/x"); err == nil {
		t.Error("the container wrote outside")
	}
	got := run(t, ordinary, Options{Image: shared.trusted, Mounts: []Mount{{Source: "/nosuch/x", Target: "/x"}}}, "true")
	if got.code != 98 || !strings.Contains(got.err, "--mounts: source path does not exist: /nosuch/x") {
		t.Errorf("missing source: %+v", got)
	}
	got = run(t, ordinary, Options{Image: shared.trusted, Mounts: []Mount{{Source: dir + "/one", Target: "/opt"}}}, "true")
	if got.code != 98 || !strings.Contains(got.err, "mount "+dir+"/one at /opt: one is a file and the other a directory") {
		t.Errorf("file on directory: %+v", got)
	}
	nothingLeft(t, "none")
}

func TestMountHome(t *testing.T) {
	fixture(t)
	home, err := os.MkdirTemp(shared.dir, "home-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, ordinary.UID, ordinary.GID); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		remap bool
		want  string
	}{{false, home + "\n"}, {true, "/root\n"}} {
		o := Options{Image: shared.trusted, MountHome: true, RemapRoot: row.remap, Environ: []string{"HOME=" + home}}
		if got := shell(t, ordinary, o, "echo $HOME; echo x > $HOME/here"); got != row.want {
			t.Errorf("home is %q, want %q", got, row.want)
		}
		if err := os.Remove(home + "/here"); err != nil {
			t.Error(err)
		}
	}
}

func TestUnshare(t *testing.T) {
	fixture(t)
	for _, u := range []User{super, ordinary} {
		o := Options{Image: shared.trusted, Unshare: Unshare{Net: true, IPC: true, UTS: true}}
		got := shell(t, u, o, `cat /proc/net/dev | wc -l; ls -A /dev/shm | wc -l; readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts`)
		lines := strings.Fields(got)
		if lines[0] != "3" || lines[1] != "0" {
			t.Errorf("user %d: %q", u.UID, got)
		}
		for i, name := range []string{"net", "ipc", "uts"} {
			if mine := must(os.Readlink("/proc/self/ns/" + name)); lines[2+i] == mine {
				t.Errorf("user %d: %s is the host's", u.UID, name)
			}
		}
		h := startHold(t, super, Options{Image: shared.trusted, User: u, Unshare: o.Unshare})
		if h.fields[2] != "user,mnt,ipc,uts,net" {
			t.Errorf("namespaces %s", h.fields[2])
		}
		h.end()
		h.nothingLeft()
	}
}

// TestLinkToNoPasswd: an image may have links where the user is to be made known.
func TestLinkToNoPasswd(t *testing.T) {
	fixture(t)
	dir := stateDir(t)
	o := Options{Image: shared.trusted, Writable: true, Save: dir + "/linked.sqsh"}
	shell(t, super, o, "rm -f /etc/passwd /etc/group; ln -s /nosuch/passwd /etc/passwd; ln -s ../nosuch/group /etc/group")
	if got := shell(t, ordinary, Options{Image: dir + "/linked.sqsh"}, "cat /etc/passwd /etc/group"); !strings.Contains(got, ":54321:54321:") || !strings.Contains(got, "54321:x:54321:") {
		t.Errorf("got %q", got)
	}
}
