//go:build linux

package load

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
)

// placePrefix begins the names of runs' directories.
const placePrefix = ".muster-verify-"

// deadAfter is after how long a run's directory is a leftover: no run takes as long.
const deadAfter = 24 * time.Hour

// place is the directory of a run, in one that the user gave. All is done by descriptors, so that no link leads away.
type place struct {
	// in is the user's directory, at the run's, under name.
	in, at *os.Root
	name   string
	// kind is the file system's.
	kind string
	stat syscall.Statfs_t
}

// openPlace opens a run's directory, which it makes if no task has yet. One that another user made, or that others may read, is refused.
func openPlace(dir, run string) (*place, error) {
	p := &place{name: placePrefix + run}
	if err := p.enter(dir); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *place) enter(dir string) (err error) {
	if p.in, err = openPlain(dir); err != nil {
		return err
	}
	if err := p.look(); err != nil {
		return err
	}
	if err := p.in.Mkdir(p.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a directory in %s: %w", dir, err)
	}
	info, err := p.in.Lstat(p.name)
	if err != nil {
		return fmt.Errorf("look at %s/%s: %w", dir, p.name, err)
	}
	if !own(info) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s/%s is not this user's own directory", dir, p.name)
	}
	if p.at, err = p.in.OpenRoot(p.name); err != nil {
		return fmt.Errorf("open %s/%s: %w", dir, p.name, err)
	}
	return nil
}

// openPlain opens a directory that is no link.
func openPlain(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory: name the directory itself, and no link to it", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s was exchanged while it was opened", dir), err, root.Close())
	}
	return root, nil
}

// own tells whether something is a directory of this user.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(stat.Uid) == os.Geteuid()
}

func (p *place) look() error {
	f, err := p.in.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Fstatfs(int(f.Fd()), &p.stat); err != nil {
		return fmt.Errorf("ask the file system of %s for its room: %w", p.in.Name(), err)
	}
	p.kind = kindOf(int64(p.stat.Type))
	return nil
}

// kindOf names file systems by the numbers of statfs(2).
func kindOf(magic int64) string {
	switch uint32(magic) {
	case 0x0BD00BD0:
		return "lustre"
	case 0x6969:
		return "nfs"
	case 0xEF53:
		return "ext4"
	case 0x58465342:
		return "xfs"
	case 0x9123683E:
		return "btrfs"
	case 0x01021994:
		return "tmpfs"
	case 0x794C7630:
		return "overlay"
	case 0x65735546:
		return "fuse"
	case 0x2FC12FC1:
		return "zfs"
	}
	return fmt.Sprintf("%#x", uint32(magic))
}

// room holds that there is three times the room that the tasks need. File systems that tell no inodes are not asked for them.
func (p *place) room(bytes, files int64) error {
	free := int64(p.stat.Bavail) * int64(p.stat.Bsize)
	if p.stat.Frsize > 0 {
		free = int64(p.stat.Bavail) * int64(p.stat.Frsize)
	}
	if free/3 < bytes {
		return fmt.Errorf("%w: %s free in %s, and three times %s is wanted", errSpace, count.Bytes(free), p.in.Name(), count.Bytes(bytes))
	}
	if p.stat.Files > 0 && int64(p.stat.Ffree)/3 < files {
		return fmt.Errorf("%w: %d inodes free in %s, and three times %d are wanted", errSpace, p.stat.Ffree, p.in.Name(), files)
	}
	return nil
}

// mostNames bounds how much of the user's directory is looked through for leftovers.
const mostNames = 10_000

// sweep removes directories that runs of this user left a day ago or earlier, and counts them.
func (p *place) sweep(now time.Time) (gone int) {
	dir, err := p.in.Open(".")
	if err != nil {
		return 0
	}
	defer dir.Close()
	for seen := 0; seen < mostNames; {
		entries, err := dir.ReadDir(1000)
		seen += len(entries)
		for _, e := range entries {
			if p.leftover(e.Name(), now) && p.in.RemoveAll(e.Name()) == nil {
				gone++
			}
		}
		if err != nil || errors.Is(err, io.EOF) {
			return gone
		}
	}
	return gone
}

func (p *place) leftover(name string, now time.Time) bool {
	run, ok := strings.CutPrefix(name, placePrefix)
	if !ok || !plain(run, 8, 32) || name == p.name {
		return false
	}
	info, err := p.in.Lstat(name)
	return err == nil && own(info) && now.Sub(info.ModTime()) > deadAfter
}

// remove removes the run's directory. Another task may have done so.
func (p *place) remove() error {
	if err := p.in.RemoveAll(p.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s/%s: %w", p.in.Name(), p.name, err)
	}
	return nil
}

// removes is how often removal is tried: programs that were ended just now may still have made a file.
const removes = 5

// removeAll removes the run's directory, though others may not have ended yet.
func (p *place) removeAll() (err error) {
	for i := range removes {
		if err = p.remove(); err == nil {
			return nil
		}
		<-time.After(time.Duration(i+1) * 100 * time.Millisecond)
	}
	return err
}

// RemovePlace removes a run's directory, if it is there.
func RemovePlace(dir, run string) error {
	p := &place{name: placePrefix + run}
	defer p.close()
	var err error
	if p.in, err = openPlain(dir); err != nil {
		return err
	}
	if _, err := p.in.Lstat(p.name); errors.Is(err, fs.ErrNotExist) {
		return nil // a file system that is read-only says so also of what is not there
	}
	return p.removeAll()
}

func (p *place) close() {
	for _, r := range []*os.Root{p.at, p.in} {
		if r != nil {
			r.Close()
		}
	}
}
