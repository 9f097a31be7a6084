package connect

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func head() Head {
	return Head{
		Cluster: "train", Region: "us-east-2", Instance: "i-0123", Public: "203.0.113.7", Private: "10.0.0.5",
		User: "ubuntu", HostKeys: []string{"ssh-ed25519 AAAAC3", "ssh-rsa AAAAB3"}, KeyName: "muster-train",
	}
}

func TestChoose(t *testing.T) {
	closed := &net.OpError{Op: "dial", Err: errors.New("i/o timeout")}
	missing := errors.New("there is no plugin")
	for _, try := range []struct {
		name    string
		want    Options
		look    Look
		session bool
		err     string
	}{
		{"port_open", Options{}, Look{Plugin: missing}, false, ""},
		{"port_open_and_plugin", Options{}, Look{}, false, ""},
		{"port_closed", Options{}, Look{Port: closed}, true, ""},
		{"own_proxy", Options{}, Look{Own: true, Plugin: missing}, false, ""},
		{"session_wanted", Options{Session: true}, Look{}, true, ""},
		{"session_wanted_without_plugin", Options{Session: true}, Look{Plugin: missing}, false, "there is no plugin"},
		{"no_way", Options{}, Look{Port: closed, Plugin: missing}, false,
			"203.0.113.7 does not answer on SSH's port (i/o timeout): HeadNode/Ssh/AllowedIps of the cluster file says who may connect. Another way is Session Manager: there is no plugin"},
		{"no_private_way", Options{Private: true}, Look{Port: closed, Plugin: missing}, false,
			"10.0.0.5 does not answer on SSH's port (i/o timeout): HeadNode/Ssh/AllowedIps of the cluster file says who may connect. Another way is Session Manager: there is no plugin"},
	} {
		t.Run(try.name, func(t *testing.T) {
			session, err := head().Choose(try.want, try.look)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if session != try.session || got != try.err {
				t.Errorf("got %v, %q; want %v, %q", session, got, try.session, try.err)
			}
		})
	}
}

func TestLine_trusts_only_the_head_node(t *testing.T) {
	w := Way{Head: head(), At: Files{Dir: "/home/ada/my state", Cluster: "train"}, Proxy: []string{"/opt/a b/muster", "100%"}}
	line := w.Run(Use{NoInput: true}, "sbatch", "--wrap=sleep 1")
	for _, want := range []string{
		"HostName=203.0.113.7", "User=ubuntu", "HostKeyAlias=i-0123", `UserKnownHostsFile="/home/ada/my state/train.known_hosts"`,
		"GlobalKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes", "ControlPath=none", `ProxyCommand='/opt/a b/muster' 100%%`,
	} {
		if i := slices.Index(line, want); i < 1 || line[i-1] != "-o" {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if end := line[len(line)-4:]; !slices.Equal(end, []string{"-T", "-n", "muster-train", "sbatch '--wrap=sleep 1'"}) {
		t.Errorf("the line ends in %q", end)
	}
	w.Want = Options{User: "root", Private: true}
	if line := w.Line(); !slices.Contains(line, "User=root") || !slices.Contains(line, "HostName=10.0.0.5") {
		t.Errorf("wishes are not heard: %q", line)
	}
}

func TestLine_is_what_ssh_takes(t *testing.T) {
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no ssh")
	}
	w := Way{Head: head(), At: Files{Dir: "/home/ada/my state", Cluster: "train", Sockets: "/run/user/1/100%"}}
	line := w.Line()
	out, err := exec.Command(ssh, slices.Concat([]string{"-F", "none", "-G"}, line[1:], []string{w.Name()})...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"hostname 203.0.113.7", "stricthostkeychecking true", "userknownhostsfile \"/home/ada/my state/train.known_hosts\"", "controlpersist 60"} {
		if !strings.Contains(string(out), want+"\n") && !strings.Contains(string(out), strings.ReplaceAll(want, `"`, "")+"\n") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestIdentity(t *testing.T) {
	keys := t.TempDir()
	for _, name := range []string{"id_rsa", "lab.pem"} {
		if err := os.WriteFile(filepath.Join(keys, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"muster-train": "id_rsa", "lab": "lab.pem", "other": "", "": ""} {
		h := head()
		h.KeyName = name
		got := Way{Head: h, Keys: keys}.identity()
		if want != "" {
			want = filepath.Join(keys, want)
		}
		if got != want {
			t.Errorf("key pair %q: got %q, want %q", name, got, want)
		}
	}
	if got := (Way{Head: head(), Keys: keys, Want: Options{Identity: "mine"}}).identity(); got != "mine" {
		t.Errorf("got %q", got)
	}
}

func TestPlace(t *testing.T) {
	p := Files{Dir: filepath.Join(t.TempDir(), "aws.d"), Cluster: "train", Sockets: shortDir(t)}
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
	l, err := net.Listen("unix", p.socket(head()))
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

// TestSockets_go holds that nothing stays of shared connections, but the folder of those of other clusters.
func TestSockets_go(t *testing.T) {
	f := Files{Dir: t.TempDir(), Cluster: "c", Sockets: filepath.Join(t.TempDir(), "muster")}
	f.makeSockets()
	other := filepath.Join(f.Sockets, "other")
	if err := errors.Join(os.WriteFile(other, nil, 0o600), f.Forget()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another cluster's connection went: %v", err)
	}
	if err := errors.Join(os.Remove(other), f.Forget()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Sockets); err == nil {
		t.Error("the empty folder stays")
	}
	if err := os.Mkdir(f.Sockets, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.Sockets, 0o777); err != nil {
		t.Fatal(err)
	}
	if f.makeSockets(); f.Sockets != "" {
		t.Error("a folder that others write to is used")
	}
}

func TestSockets_are_ours_alone(t *testing.T) {
	run := t.TempDir()
	dir := Sockets(run, "/nowhere")
	if _, err := os.Stat(dir); dir == "" || err == nil {
		t.Fatalf("a look makes %q, %v", dir, err)
	}
	f := Files{Dir: t.TempDir(), Cluster: "c", Sockets: dir}
	if err := f.Keep(Head{Instance: "i-1", HostKeys: []string{"ssh-ed25519 AAAA"}}); err != nil || f.Sockets != dir {
		t.Fatalf("keep: %v, sockets in %q", err, f.Sockets)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%q: %v", dir, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := Sockets(run, "/nowhere"); got != "" {
		t.Errorf("a folder that others write to is used: %s", got)
	}
	if err := errors.Join(os.Remove(dir), os.Symlink(t.TempDir(), dir)); err != nil {
		t.Fatal(err)
	}
	if got := Sockets(run, "/nowhere"); got != "" {
		t.Errorf("a link is used: %s", got)
	}
}

func TestNewer(t *testing.T) {
	for version, want := range map[string]bool{"1.2.497.0": false, "1.2.498.0": true, "1.10.0.0": true, "2.0.0.0": true, "1.2.339.0": false, "1.2": false, "": false, "new": false} {
		if got := newer(version, lastWithoutVariable); got != want {
			t.Errorf("%q: got %v", version, got)
		}
	}
}
