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
	w := Way{Head: head(), At: Files{Dir: filepath.Join(t.TempDir(), "my state"), Cluster: "train", Sockets: filepath.Join(shortDir(t), "100%")}}
	if err := w.At.Keep(w.Head); err != nil {
		t.Fatal(err)
	}
	line := w.Line()
	out, err := exec.Command(ssh, slices.Concat([]string{"-F", "none", "-G"}, line[1:], []string{w.Name()})...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"hostname 203.0.113.7", "stricthostkeychecking true", `userknownhostsfile "` + w.At.knownHosts() + `"`, "controlpath " + w.At.socketPath(w.Head), "controlpersist 60"} {
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

func TestNewer(t *testing.T) {
	for version, want := range map[string]bool{"1.2.497.0": false, "1.2.498.0": true, "1.10.0.0": true, "2.0.0.0": true, "1.2.339.0": false, "1.2": false, "": false, "new": false} {
		if got := newer(version, lastWithoutVariable); got != want {
			t.Errorf("%q: got %v", version, got)
		}
	}
}
