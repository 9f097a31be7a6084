package connect

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFiles_recall_an_open_connection(t *testing.T) {
	p := Files{Dir: filepath.Join(t.TempDir(), "aws.d"), Cluster: "train", Sockets: filepath.Join(shortDir(t), "muster")}
	if err := p.Keep(head()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.knownHosts())
	if want := "i-0123 ssh-ed25519 AAAAC3\ni-0123 ssh-rsa AAAAB3\n"; err != nil || string(text) != want {
		t.Errorf("known hosts %q, %v", text, err)
	}
	if _, ok := p.Recall(); ok {
		t.Error("a head node to which no connection is open is recalled")
	}
	l, err := bind(p, head())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, ok := p.Recall(); !ok || got.Instance != "i-0123" {
		t.Errorf("recalled %+v, %v", got, ok)
	}
	if err := errors.Join(p.Forget(), p.Forget()); err != nil {
		t.Error(err)
	}
	if _, ok := p.Recall(); ok {
		t.Error("what was forgotten is recalled")
	}
	for _, keys := range [][]string{nil, {"ssh-rsa AAAA\n* ssh-rsa BBBB"}} {
		h := head()
		h.HostKeys = keys
		if err := p.Keep(h); err == nil {
			t.Errorf("keys %q are kept", keys)
		}
	}
}

// shortDir is a folder whose sockets have short names.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reach")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// controlPath is where SSH is told to make its socket.
func controlPath(f Files, h Head) string {
	line := Way{Head: h, At: f}.Line()
	i := slices.IndexFunc(line, func(s string) bool { return strings.HasPrefix(s, "ControlPath=") })
	return strings.Trim(strings.TrimPrefix(line[i], "ControlPath="), `"`)
}

// bind makes the socket that SSH would make.
func bind(f Files, h Head) (net.Listener, error) {
	path := controlPath(f, h)
	if path == "none" {
		return nil, errors.New("SSH is to make none")
	}
	return net.Listen("unix", path)
}

// SSH makes its socket long after it was told where, and ends with an error if it cannot.
func TestForget_leaves_the_folders_of_others(t *testing.T) {
	sockets := filepath.Join(shortDir(t), "muster")
	one, other := Files{Dir: t.TempDir(), Cluster: "one", Sockets: sockets}, Files{Dir: t.TempDir(), Cluster: "other", Sockets: sockets}
	if err := errors.Join(one.Keep(head()), other.Keep(head()), other.Forget()); err != nil {
		t.Fatal(err)
	}
	l, err := bind(one, head())
	if err != nil {
		t.Fatalf("the socket of one cluster cannot be made after another was forgotten: %v", err)
	}
	if err := other.Forget(); err != nil {
		t.Fatal(err)
	}
	if got, ok := one.Recall(); !ok {
		t.Errorf("an open connection is lost when another cluster is forgotten: recalled %+v", got)
	}
	// A killed SSH leaves its socket.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(l.Close(), one.Forget()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(sockets); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays when the last cluster is forgotten: %v", err)
	}
}

func TestKeep_beside_Forget(t *testing.T) {
	sockets := filepath.Join(shortDir(t), "muster")
	one, other := Files{Dir: t.TempDir(), Cluster: "one", Sockets: sockets}, Files{Dir: t.TempDir(), Cluster: "other", Sockets: sockets}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for done := false; err == nil && !done; {
			other.share(head())
			err = other.Forget()
			select {
			case <-stop:
				done = true
			default:
			}
		}
		stopped <- err
	}()
	for range 300 {
		one.share(head()) // Keep does so, and writes files, which takes long
		l, err := bind(one, head())
		if err != nil {
			t.Errorf("SSH cannot make its socket: %v", err)
			break
		}
		if err := errors.Join(l.Close(), one.Forget()); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestSockets(t *testing.T) {
	if got := Sockets("/run/user/1", "/tmp"); got != "/run/user/1/muster" {
		t.Errorf("got %s", got)
	}
	if got := Sockets("", "/tmp"); !strings.HasPrefix(got, "/tmp/muster-") {
		t.Errorf("got %s", got)
	}
}

// Where connections cannot be shared, SSH is told so, and the user's command runs all the same.
func TestKeep_shares_nothing_where_it_cannot(t *testing.T) {
	for _, row := range []struct {
		name   string
		shared bool
		make   func(f *Files) error
	}{
		{"as_usual", true, func(*Files) error { return nil }},
		{"not_wanted", false, func(f *Files) error { f.Sockets = ""; return nil }},
		{"no_folder_above", false, func(f *Files) error { f.Sockets = filepath.Join(f.Sockets, "muster"); return nil }},
		{"longest_path", true, func(f *Files) error { return lengthen(f, 107-longer) }},
		{"path_too_long_for_the_first_name", false, func(f *Files) error { return lengthen(f, 107-longer+1) }},
		{"path_too_long", false, func(f *Files) error { return lengthen(f, 120) }},
		{"others_write_to_it", false, func(f *Files) error { return errors.Join(os.Mkdir(f.Sockets, 0o777), os.Chmod(f.Sockets, 0o777)) }},
		{"others_read_it", false, func(f *Files) error { return errors.Join(os.Mkdir(f.Sockets, 0o700), os.Chmod(f.Sockets, 0o750)) }},
		{"a_link", false, func(f *Files) error {
			return errors.Join(os.Mkdir(f.Sockets+".real", 0o700), os.Symlink(f.Sockets+".real", f.Sockets))
		}},
		{"a_file", false, func(f *Files) error { return os.WriteFile(f.Sockets, nil, 0o700) }},
		{"others_write_to_the_cluster's", false, func(f *Files) error {
			return errors.Join(os.MkdirAll(f.socketDir(), 0o700), os.Chmod(f.socketDir(), 0o777))
		}},
		{"the_cluster's_is_a_link", false, func(f *Files) error {
			return errors.Join(os.Mkdir(f.Sockets, 0o700), os.Mkdir(f.Sockets+".real", 0o700), os.Symlink(f.Sockets+".real", f.socketDir()))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := Files{Dir: filepath.Join(t.TempDir(), "aws.d"), Cluster: "train", Sockets: filepath.Join(shortDir(t), "muster")}
			if err := errors.Join(row.make(&f), f.Keep(head())); err != nil {
				t.Fatal(err)
			}
			want := "none"
			if row.shared {
				want = f.socketPath(head())
			}
			if got := controlPath(f, head()); got != want {
				t.Errorf("SSH makes its socket at %s, want %s", got, want)
			}
			if _, err := os.Lstat(f.Sockets + ".real"); err == nil {
				if left, err := os.ReadDir(f.Sockets + ".real"); len(left) > 0 || err != nil {
					t.Errorf("there are %v behind the link: %v", left, err)
				}
			}
			if !row.shared {
				return
			}
			for _, dir := range []string{f.Sockets, f.socketDir()} {
				if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v, %v", dir, info, err)
				}
			}
			if left, err := os.ReadDir(f.socketDir()); len(left) > 0 || err != nil {
				t.Errorf("a try leaves %v: %v", left, err)
			}
		})
	}
}

// longer is how much longer the name is that SSH gives its socket first.
const longer = 17

// lengthen makes the path of the socket so long.
func lengthen(f *Files, length int) error {
	f.Sockets += strings.Repeat("x", length-len(f.socketPath(head())))
	return nil
}

// Another user may put a folder where there was none.
func TestForget_removes_nothing_of_another_user(t *testing.T) {
	f := Files{Dir: t.TempDir(), Cluster: "train", Sockets: filepath.Join(shortDir(t), "muster")}
	theirs := f
	theirs.Sockets += ".theirs"
	if err := errors.Join(os.MkdirAll(theirs.socketDir(), 0o700), os.Symlink(theirs.Sockets, f.Sockets), f.Forget()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(theirs.socketDir()); err != nil {
		t.Errorf("what a link leads to was removed: %v", err)
	}
	if got := (Way{Head: head(), At: f}).Line(); !slices.Contains(got, "ControlPath=none") {
		t.Errorf("a link is used: %q", got)
	}
}
