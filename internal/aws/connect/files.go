package connect

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Files are what this machine keeps of the way to a cluster.
type Files struct {
	// Dir is the folder of clusters on AWS, Cluster its name.
	Dir, Cluster string
	// Sockets is a folder of the user's alone, empty where there is none; then
	// connections are not shared.
	Sockets string
}

// knownHosts is the file with the head node's keys.
func (f Files) knownHosts() string { return filepath.Join(f.Dir, f.Cluster+".known_hosts") }

// headFile is the file with the head node that a shared connection leads to.
func (f Files) headFile() string { return filepath.Join(f.Dir, f.Cluster+".head") }

// socketMost is how long the name of a socket may be: the kernel's 108 bytes without
// what SSH puts behind it for a moment.
const socketMost = 108 - 18

// socket is where a shared connection to the head node is, empty for none.
func (f Files) socket(h Head) string {
	if f.Sockets == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(f.Dir + "\x00" + h.Region + "\x00" + h.Instance))
	path := filepath.Join(f.Sockets, fmt.Sprintf("%x", sum[:8]))
	if len(path) > socketMost {
		return ""
	}
	return path
}

// Keep writes down which machine the head node is. SSH then trusts its keys alone. It makes the folder of shared
// connections, if there is to be one.
func (f *Files) Keep(h Head) error {
	f.makeSockets()
	text, err := knownHosts(h)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	return errors.Join(whole.Write(f.knownHosts(), []byte(text), 0o600), whole.Write(f.headFile(), append(data, '\n'), 0o600))
}

// knownHosts is a file of keys as SSH reads it.
func knownHosts(h Head) (string, error) {
	if len(h.HostKeys) == 0 {
		return "", fmt.Errorf("the head node %s has not said yet by which keys SSH knows it", h.Instance)
	}
	var b strings.Builder
	for _, key := range h.HostKeys {
		words := strings.Fields(key)
		if len(words) != 2 {
			return "", fmt.Errorf("%q is no key of a head node", key)
		}
		fmt.Fprintf(&b, "%s %s %s\n", h.Instance, words[0], words[1])
	}
	return b.String(), nil
}

// Recall is the head node to which a shared connection leads that is open now.
func (f Files) Recall() (Head, bool) {
	var h Head
	data, err := whole.Read(f.headFile())
	if err != nil || json.Unmarshal(data, &h) != nil {
		return h, false
	}
	socket := f.socket(h)
	if socket == "" {
		return h, false
	}
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return h, false
	}
	conn.Close()
	return h, true
}

// Forget removes what was kept.
func (f Files) Forget() error {
	var errs []error
	for _, path := range []string{f.knownHosts(), f.headFile()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if f.Sockets != "" {
		_ = os.Remove(f.Sockets) // where other clusters have connections it is not empty, and stays
	}
	return errors.Join(errs...)
}

// Sockets is where shared connections are, whether the folder is there or not. Another user who could write there could
// act as us: a folder that is not ours alone is not used.
func Sockets(runtimeDir, tempDir string) string {
	dir := filepath.Join(tempDir, fmt.Sprintf("muster-%d", os.Getuid()))
	if runtimeDir != "" {
		dir = filepath.Join(runtimeDir, "muster")
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) && !oursAlone(dir) {
		return ""
	}
	return dir
}

// makeSockets makes the folder of shared connections. There are none where another user was there first.
func (f *Files) makeSockets() {
	if f.Sockets == "" {
		return
	}
	if err := os.Mkdir(f.Sockets, 0o700); err != nil && !errors.Is(err, fs.ErrExist) || !oursAlone(f.Sockets) {
		f.Sockets = ""
	}
}

func oursAlone(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Getuid()
}
