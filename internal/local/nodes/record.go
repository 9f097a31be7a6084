package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/say/malformed"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Record is what a cluster was made with: the facts that its anchor and its
// controller need and that neither the cluster file nor the kernel tells them.
type Record struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// File is the cluster file's path as the user gave it, made absolute, and empty for a pipe.
	File string `json:"file"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	User string `json:"user"`
	// HeadName is the head node's host name.
	HeadName string `json:"head_name"`
	// Shared are mounted on the head node and on every node.
	Shared []Mount `json:"shared"`
	// HeadOnly are mounted on the head node alone.
	HeadOnly []Mount `json:"head_only"`
	// ScratchDirs are local to each node.
	ScratchDirs []string `json:"scratch_dirs"`
	// ImageUser is the default user of the images that nodes would have: on machines of
	// the cluster, another name of its owner.
	ImageUser string `json:"image_user,omitempty"`
	// Files are every machine's own, instead of the host's.
	Files []machine.File `json:"files,omitempty"`
	// Region is the one that the cluster's S3 server was started in.
	Region string `json:"region,omitempty"`
	// EFA are the nodes whose instance type has EFA.
	EFA []string `json:"efa,omitempty"`
	// BurnIn are the nodes that prove themselves before they are Slurm's.
	BurnIn []string `json:"burn_in,omitempty"`
}

// Mount shows a directory or file of the host inside a machine.
type Mount = machine.Mount

func (l *Layout) recordFile() string { return l.Path("cluster.json") }

// Record reads the cluster's record. The error wraps fs.ErrNotExist if there is
// no such cluster.
func (l *Layout) Record() (Record, error) {
	var r Record
	return r, readJSON(l.recordFile(), &r)
}

// ChangeRecord makes the cluster's record what change makes of the one that there
// is, which is empty where there is none. It locks the record, as `up` and the
// controller both change it.
func (l *Layout) ChangeRecord(change func(Record) Record) error {
	unlock, err := lockFile(l.Path("record.lock"))
	if err != nil {
		return fmt.Errorf("lock the cluster's record: %w", err)
	}
	defer unlock()
	r, err := l.Record()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return whole.JSON(l.recordFile(), change(r))
}

// lockFile waits until the caller is the only one that holds a file's lock.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return func() { f.Close() }, nil
	}
}

// Open finds the run directory of a cluster that exists.
func Open(dir string) (*Layout, Record, error) {
	l := &Layout{Dir: dir}
	r, err := l.Record()
	if err != nil {
		return nil, Record{}, err
	}
	l.UID, l.GID, l.Rootless = r.UID, r.GID, r.UID != 0
	return l, r, nil
}

// Names lists the clusters that have a run directory below home.
func Names(home string) ([]string, error) {
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if _, statErr := os.Stat(filepath.Join(home, e.Name(), "cluster.json")); statErr == nil {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func readJSON(path string, into any) error {
	data, err := whole.Read(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", path, malformed.JSON(err))
	}
	return nil
}
