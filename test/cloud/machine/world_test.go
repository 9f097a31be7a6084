package machine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/cloud/machine"
)

// The test's program is also the world's and the machines'.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-"):
		os.Exit(machine.Guest(os.Args[1:]))
	default:
		os.Exit(m.Run())
	}
}

// TestWorld runs TestInside in namespaces of its own.
func TestWorld(t *testing.T) {
	if machine.Inside() {
		t.Skip("this is the inside")
	}
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("needs root")
		}
		t.Skip("needs root")
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var printed bytes.Buffer
	cmd, err := machine.Enter(l, &printed, &printed, "-test.run=^TestInside$", "-test.v")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &printed)
	}
}

const userData = `#!/bin/sh
set -e
mkdir -p /fsx /home/shared
mount -t lustre -o relatime,flock fs-1.fsx.us-east-2.amazonaws.com@tcp:/abcd /fsx
echo "from $(hostname)" >>/fsx/seen
getent hosts ip-10-0-0-9.us-east-2.compute.internal
getent hosts files.example.com
ls /dev/nvidia1
cat /var/lib/cloud/instance/user-data.txt | head -n 1
if mount -t lustre fs-2.fsx.us-east-2.amazonaws.com@tcp:/abcd /fsx; then exit 1; fi
`

func TestInside(t *testing.T) {
	if !machine.Inside() {
		t.Skip("TestWorld runs this in namespaces of its own")
	}
	if _, err := machine.Arrive(); err != nil {
		t.Fatal(err)
	}
	w, ended := newWorld(t)
	launch := func(id, address, data string) {
		if err := w.Launch(machine.Instance{ID: id, Address: netip.MustParseAddr(address), UserData: []byte(data), GPUs: 2}); err != nil {
			t.Fatal(err)
		}
	}
	attach(t, w, "i-0123456789abcdef1")
	launch("i-0123456789abcdef1", "10.0.0.9", userData+withVolume+"mkdir /export && echo shared >/export/file && echo '/export 10.0.0.0/16(rw)' >/etc/exports && exportfs -ra && echo ready\n")
	await(t, w.Console("i-0123456789abcdef1"), "ready")
	launch("i-0123456789abcdef2", "10.0.0.10", "#!/bin/sh\nmkdir /mnt/e; mount -t nfs4 ip-10-0-0-9:/export /mnt/e && cat /mnt/e/file /fsx/seen; mount -t nfs4 10.0.0.9:/root /mnt/e; mount -t nfs4 -o hard,noresvport 10.0.0.9:/export /mnt/e; shutdown -h now\n")
	select {
	case id := <-ended:
		if id != "i-0123456789abcdef2" {
			t.Errorf("%s ended", id)
		}
	case <-time.After(5 * time.Minute):
		t.Error("the second machine goes on")
	}
	for id, want := range map[string][]string{
		"i-0123456789abcdef1": {"ext4 on a volume", `"serial":"vol0123"`, `"fstype":"ext4","mountpoint":"/vol"`, "10.0.0.9", "10.0.0.8", "/dev/nvidia1", "#!/bin/sh", "no such file system"},
		"i-0123456789abcdef2": {"shared", "access denied by server while mounting /root", "operation not permitted"},
	} {
		text, err := os.ReadFile(w.Console(id))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s says nothing of %q:\n%s", id, line, text)
			}
		}
	}
	if err := w.Terminate("i-0123456789abcdef1"); err != nil {
		t.Fatal(err)
	}
}

// withVolume formats and mounts the volume that attach gives.
const withVolume = `
lsblk --json --paths | grep '"serial":"vol0123"'
mkfs.ext4 -q /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123
mkdir /vol && mount -t auto /dev/nvme1n1 /vol && echo "ext4 on a volume" >/vol/file && cat /vol/file
lsblk --json --paths
`

func attach(t *testing.T, w *machine.World, instance string) {
	t.Helper()
	d := machine.Disk{Instance: instance, Volume: "vol-0123", GiB: 1}
	if err := w.Attach(d); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Detach(d); err != nil {
			t.Error(err)
		}
	})
}

// newWorld is a world with one file system and one name.
func newWorld(t *testing.T) (*machine.World, <-chan string) {
	t.Helper()
	ended := make(chan string, 2)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := machine.New(t.Context(), machine.Config{
		Dir: t.TempDir(), Network: netip.MustParsePrefix("10.0.0.0/16"), Endpoint: "http://10.0.0.1:1", Program: self,
		FileSystem: func(_ context.Context, source string) (string, error) {
			id, _, _ := strings.Cut(source, ".")
			if id != "fs-1" {
				return "", errors.New("no such file system")
			}
			return id, nil
		},
		Names: func(_ context.Context, name string) []netip.Addr {
			if name == "files.example.com" {
				return []netip.Addr{netip.MustParseAddr("10.0.0.8")}
			}
			return nil
		},
		Ended: func(id string) { ended <- id },
		Log:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, ended
}

// await waits until a file has a text.
func await(t *testing.T, path, text string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), text) {
			return
		}
		if time.Now().After(end) {
			list, _ := exec.Command("ls", "-l", filepath.Dir(path)).CombinedOutput()
			t.Fatalf("%s has no %q: %s %v\n%s", path, text, data, err, list)
		}
		<-time.After(10 * time.Millisecond)
	}
}
