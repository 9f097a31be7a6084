package local

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
)

// sharedMounts are what every machine of the cluster sees in one place: the
// cluster's own files, the file systems of the cluster file, /home, and the
// caller's working directory.
func sharedMounts(l *nodes.Layout, u *user.User, workDir string, c *spec.Cluster) ([]nodes.Mount, error) {
	mounts := []nodes.Mount{
		{Source: l.Path("etc", "slurm"), Target: services.SlurmDir, ReadOnly: true},
		{Source: l.Path("etc", "hosts"), Target: "/etc/hosts", ReadOnly: true},
		{Source: l.Path("etc", "aws"), Target: services.AWSDir, ReadOnly: true},
		{Source: l.Path("etc", "s3", "credentials"), Target: services.AWSDir + "-credentials", ReadOnly: true},
		{Source: l.Path("etc", "muster"), Target: services.ConfDir, ReadOnly: true},
		{Source: l.Path(sockets("munge")), Target: "/run/munge"},
		{Source: l.Path("bin"), Target: services.BinDir, ReadOnly: true},
	}
	mounts = append(append(mounts, nameMounts(l)...), sshMounts(l)...)
	for _, s := range withHome(c) {
		m := nodes.Mount{Source: StorageDir(l, c, s.MountDir), Target: s.MountDir}
		if err := os.MkdirAll(m.Source, 0o755); err != nil {
			return nil, fmt.Errorf("make %s: %w", s.MountDir, err)
		}
		mounts = append(mounts, m)
	}
	if err := errors.Join(makeHome(l, u, c), makeImageHome(l, u, c)); err != nil {
		return nil, err
	}
	if nodes.Shareable(workDir) {
		mounts = append(mounts, nodes.Mount{Source: workDir, Target: workDir})
	}
	return mounts, nil
}

// withHome are the file systems of a cluster file, and /home, which the head node of a
// ParallelCluster exports.
func withHome(c *spec.Cluster) []spec.SharedStorage {
	storage := slices.Clone(c.SharedStorage)
	if !slices.ContainsFunc(storage, func(s spec.SharedStorage) bool { return s.MountDir == "/home" }) {
		storage = append(storage, spec.SharedStorage{Name: "home", MountDir: "/home"})
	}
	slices.SortStableFunc(storage, func(a, b spec.SharedStorage) int { return strings.Compare(a.MountDir, b.MountDir) })
	return storage
}

// StorageDir is the directory of the host that stands for the file system of a mount
// directory. No two of a cluster have the same: /a/b is a-b, unless there is /a-b.
func StorageDir(l *nodes.Layout, c *spec.Cluster, mountDir string) string {
	name := flat(mountDir)
	escape := strings.Contains(mountDir, "%") // else /a%2Fb could be /a/b
	if escape || strings.Contains(strings.Trim(mountDir, "/"), "/") && slices.ContainsFunc(c.SharedStorage, func(s spec.SharedStorage) bool {
		return s.MountDir != mountDir && flat(s.MountDir) == name
	}) {
		name = url.PathEscape(strings.Trim(mountDir, "/"))
	}
	return l.Path("shared", name)
}

// flat is a path as one word.
func flat(dir string) string { return strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-") }

// makeHome makes the caller's home on the cluster's /home, empty: the real one
// stays with the host.
func makeHome(l *nodes.Layout, u *user.User, c *spec.Cluster) error {
	rest, under := strings.CutPrefix(u.HomeDir, "/home/")
	if !under {
		return nil
	}
	return os.MkdirAll(filepath.Join(StorageDir(l, c, "/home"), rest), 0o755)
}

// makeImageHome makes the home directory of the image's default user, who is the caller
// by another name: it leads to the caller's, if that is on the cluster's /home, too.
func makeImageHome(l *nodes.Layout, u *user.User, c *spec.Cluster) error {
	name := c.DefaultUser()
	if _, err := user.Lookup(name); name == "" || err == nil {
		return nil // this machine has a user of that name
	}
	at := filepath.Join(StorageDir(l, c, "/home"), name)
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	if rest, under := strings.CutPrefix(u.HomeDir, "/home/"); under {
		return os.Symlink(rest, at)
	}
	return os.Mkdir(at, 0o755)
}
