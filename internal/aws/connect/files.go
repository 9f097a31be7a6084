package connect

import (
	"crypto/rand"
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
	// Sockets is where this user's shared connections are, empty if none is to be
	// shared.
	Sockets string
}

// knownHosts is the file with the head node's keys.
func (f Files) knownHosts() string { return filepath.Join(f.Dir, f.Cluster+".known_hosts") }

// headFile is the file with the head node that a shared connection leads to.
func (f Files) headFile() string { return filepath.Join(f.Dir, f.Cluster+".head") }

// socketDir is the cluster's folder of shared connections: sockets of two clusters are in two folders, so that one can be
// removed while a connection to the other begins.
func (f Files) socketDir() string {
	return filepath.Join(f.Sockets, hash(f.Dir, f.Cluster))
}

// socketPath is where SSH makes the socket of a shared connection.
func (f Files) socketPath(h Head) string {
	return filepath.Join(f.socketDir(), hash(h.Region, h.Instance))
}

// hash is a short name that stands for others: the whole path of a socket has 104 bytes on some systems.
func hash(of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return fmt.Sprintf("%x", sum[:6])
}

// socket is where a shared connection to the head node is, empty for none: there is no folder for it, or another user
// could act as us there.
func (f Files) socket(h Head) string {
	if f.Sockets == "" || oursAlone(f.Sockets) != nil || oursAlone(f.socketDir()) != nil {
		return ""
	}
	return f.socketPath(h)
}

// Keep writes down which machine the head node is. SSH then trusts its keys alone. Connections are shared from now on,
// if this machine allows that.
func (f Files) Keep(h Head) error {
	f.share(h)
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
	if f.Sockets != "" && oursAlone(f.Sockets) == nil {
		errs = append(errs, os.RemoveAll(f.socketDir()))
		_ = os.Remove(f.Sockets) // it is not empty if other clusters have folders there
	}
	return errors.Join(errs...)
}

// Sockets is where shared connections of this user are.
func Sockets(runtimeDir, tempDir string) string {
	if runtimeDir != "" {
		return filepath.Join(runtimeDir, "muster")
	}
	return filepath.Join(tempDir, fmt.Sprintf("muster-%d", os.Getuid()))
}

// share makes the folder for shared connections to a head node, or leaves none where SSH could not make its socket: it
// would end with that error before it runs the user's command.
func (f Files) share(h Head) {
	if f.Sockets == "" || f.makeSocketDir() != nil {
		return
	}
	if err := tryBind(f.socketPath(h)); err != nil {
		_ = os.Remove(f.socketDir()) // sockets that are there can still be used
	}
}

// makeSocketDir makes the cluster's folder, and the one above it, which belongs to this user alone.
func (f Files) makeSocketDir() error {
	for {
		if err := makeDir(f.Sockets); err != nil {
			return err
		}
		err := oursAlone(f.Sockets)
		if err == nil {
			err = makeDir(f.socketDir())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Another cluster was forgotten just now, and the folder was empty: again.
	}
}

func makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// tryBind makes a socket beside path and removes it. Its name is as long as the one that SSH makes first, with a dot and
// 16 characters behind the path.
func tryBind(path string) error {
	l, err := net.Listen("unix", path+"."+rand.Text()[:16])
	if err != nil {
		return err
	}
	return l.Close()
}

// oursAlone is why something is not a folder that only this user can read and write: another user who could write there
// could act as us.
func oursAlone(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}
