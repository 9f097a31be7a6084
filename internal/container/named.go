package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/thread"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// A container with a name outlives the command that made it: what it has written is
// kept in a directory of the user's on this machine's disk.
//
//	STATE/UID/ENTRY/ upper, work    the overlay's
//	                 container.json  what it is made of, when it is complete
//	                 gate           locked while one decides and makes
//	                 users          locked, shared, by each who uses it
//
// An entry is called NAME, and JOB:NAME for a name of a job's own.

// entry is a named container's directory.
type entryDir struct {
	dir   string
	gate  *os.File
	users *os.File
}

// kept is the record of a named container, its container.json.
type kept struct {
	// ID is unlike that of any other container, of the same name, too.
	ID      string    `json:"id"`
	Image   string    `json:"image"`
	Created time.Time `json:"created"`
	// PID held the namespaces, Space names its mount namespace, and the others say how
	// to be in them. They are of the last time it ran.
	PID        int      `json:"pid"`
	Space      string   `json:"space"`
	Namespaces []string `json:"namespaces"`
	Environ    []string `json:"environ"`
	Workdir    string   `json:"workdir"`
	RemapRoot  bool     `json:"remap_root,omitempty"`
	// Step says that it is a step's, without a name: it can be joined while it runs.
	Step bool `json:"step,omitempty"`
}

func (n Name) entry() string {
	if n.Job == "" {
		return n.Name
	}
	return n.Job + ":" + n.Name
}

// nameAction is what to do about the container that has a name.
type nameAction int

const (
	makeNew nameAction = iota
	useAgain
	join
	// beside makes a second one over what one that runs has written so far. What it
	// writes itself cannot be kept: two overlays would change one directory.
	beside
)

// decideName decides what to do about a name.
func decideName(n Name, exists, running, hasImage bool) (nameAction, error) {
	switch {
	case n.Flag == NameCreate && exists:
		return 0, fmt.Errorf(`"create" flag was passed to --name but the container %s already exists`, n.Name)
	case n.Flag == NameExec && !running:
		return 0, fmt.Errorf(`"exec" flag was passed to --name but the container %s is not running`, n.Name)
	case n.Flag == NameNoExec && running:
		return beside, nil
	case running:
		return join, nil
	case exists:
		return useAgain, nil
	case !hasImage:
		return 0, fmt.Errorf("a container with name %q does not exist, and no image is given", n.Name)
	}
	return makeNew, nil
}

// rootState is where root keeps named containers of all users.
const rootState = "/var/lib/muster/containers"

// place is where a user's directory for named containers may be: DIR/NAME/BELOW, with
// another name where another user has taken that.
type place struct{ dir, name, below string }

// places are the user's, best first.
func places(u User, state string) []place {
	id := strconv.Itoa(u.UID)
	if state != "" {
		return []place{{dir: state, name: id}}
	}
	all := []place{{dir: rootState, name: id}}
	for _, dir := range []string{"/var/tmp", "/tmp", "/dev/shm"} {
		all = append(all, place{dir: dir, name: "muster-" + id, below: "containers"})
	}
	return all
}

// existing are those of a user's directories for named containers that there are.
func existing(u User, state string) []string {
	var all []string
	for _, p := range places(u, state) {
		found := own.Find(p.dir, p.name, u.UID)
		if dir := filepath.Join(found, p.below); found != "" && own.Check(dir, u.UID) == nil {
			all = append(all, dir)
		}
	}
	return all
}

// placeFor is the user's directory for named containers. It is made if it is not
// there. Only real disks will do: an overlay, such as a local node's root, cannot hold
// the upper layer of another.
func placeFor(u User, state string) (string, error) {
	var errs []error
	for _, p := range places(u, state) {
		dir, err := p.make(u)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", withHint(fmt.Errorf("find a place for named containers: %w", errors.Join(errs...)), "name a directory with --state DIR")
}

func (p place) make(u User) (dir string, err error) {
	if p.dir == rootState && os.Geteuid() == 0 {
		if err := os.MkdirAll(rootState, 0o755); err != nil {
			return "", err
		}
		made := filepath.Join(rootState, p.name)
		if err := os.Mkdir(made, 0o700); err == nil {
			if err := os.Lchown(made, u.UID, u.GID); err != nil {
				return "", err
			}
		}
	}
	return dir, asUser(u, func() error {
		if dir, err = own.Make(p.dir, p.name, u.UID); err != nil {
			return err
		}
		dir = filepath.Join(dir, p.below)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		var on unix.Statfs_t
		if err := unix.Statfs(dir, &on); err != nil {
			return fmt.Errorf("look at %s: %w", dir, err)
		}
		if int64(on.Type) == unix.OVERLAYFS_SUPER_MAGIC || !localFS[int64(on.Type)] {
			return fmt.Errorf("%s is on a file system that cannot be a container's", dir)
		}
		return own.Check(dir, u.UID)
	})
}

// asUser runs f with the user's rights, where this process is root.
func asUser(u User, f func() error) error {
	if os.Geteuid() != 0 || u.UID == 0 {
		return f()
	}
	return thread.Do(0, func() error {
		var groups uintptr
		list := make([]uint32, len(u.Groups))
		for i, g := range u.Groups {
			list[i] = uint32(g)
		}
		if len(list) > 0 {
			groups = uintptr(unsafe.Pointer(&list[0]))
		}
		// The raw calls are for this thread alone, which ends with f.
		for _, c := range [][4]uintptr{
			{unix.SYS_SETGROUPS, uintptr(len(list)), groups},
			{unix.SYS_SETRESGID, ^uintptr(0), uintptr(u.GID), ^uintptr(0)},
			{unix.SYS_SETRESUID, ^uintptr(0), uintptr(u.UID), ^uintptr(0)},
		} {
			if _, _, errno := unix.RawSyscall(c[0], c[1], c[2], c[3]); errno != 0 {
				return fmt.Errorf("become user %d: %w", u.UID, errno)
			}
		}
		runtime.KeepAlive(list)
		return f()
	})
}

// findEntry is where a named container is, or is to be.
func findEntry(u User, state string, n Name) (string, error) {
	for _, place := range existing(u, state) {
		dir := filepath.Join(place, n.entry())
		if _, err := os.Lstat(dir); err == nil {
			return dir, nil
		}
	}
	place, err := placeFor(u, state)
	return filepath.Join(place, n.entry()), err
}

// openEntry opens a named container's directory and shuts its gate.
func openEntry(u User, state string, n Name) (*entryDir, error) {
	dir, err := findEntry(u, state, n)
	if err != nil {
		return nil, err
	}
	e := &entryDir{dir: dir}
	err = asUser(u, func() error {
		if err := os.Mkdir(e.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := own.Check(e.dir, u.UID); err != nil {
			return err
		}
		var err1, err2 error
		e.gate, err1 = os.OpenFile(filepath.Join(e.dir, "gate"), os.O_CREATE|os.O_RDWR, 0o600)
		e.users, err2 = os.OpenFile(filepath.Join(e.dir, "users"), os.O_CREATE|os.O_RDWR, 0o600)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return nil, fmt.Errorf("open container %s: %w", n.Name, err)
	}
	if err := unix.Flock(int(e.gate.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock container %s: %w", n.Name, err)
	}
	return e, unix.Flock(int(e.users.Fd()), unix.LOCK_SH)
}

// makeLayers makes the overlay's directories, which an entry that is there only to be
// found does not need.
func (e *entryDir) makeLayers(u User) error {
	return asUser(u, func() error {
		for _, d := range []string{"upper", "work"} {
			if err := os.Mkdir(filepath.Join(e.dir, d), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("open container %s: %w", filepath.Base(e.dir), err)
			}
		}
		return nil
	})
}

// open opens the gate again for other processes.
func (e *entryDir) open() error { return e.gate.Close() }

// last tells whether this process is the only user of the container. Then it is locked
// against new users until this process unlocks it.
func (e *entryDir) last() bool {
	return unix.Flock(int(e.users.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func (e *entryDir) read(u User) (k kept, exists bool, err error) {
	var data []byte
	err = asUser(u, func() error {
		data, err = whole.Read(filepath.Join(e.dir, "container.json"))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return k, true, fmt.Errorf("read container %s: %w", filepath.Base(e.dir), err)
	}
	return k, true, nil
}

func (e *entryDir) write(u User, k kept) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return asUser(u, func() error { return whole.Write(filepath.Join(e.dir, "container.json"), data, 0o600) })
}

// member is a process that is in the container: the one that held it or, when that
// has ended, another; 0 if it does not run. The namespace's name may be another's by
// now, so a member is known by its root.
func (k kept) member() (int, error) {
	if k.Space == "" {
		return 0, nil
	}
	is := func(pid int) bool {
		name, err := mountSpace(pid)
		return err == nil && name == k.Space && rootName(pid) == "muster-"+k.ID
	}
	if is(k.PID) {
		return k.PID, nil
	}
	all, err := residents(k.Space, 0)
	if i := slices.IndexFunc(all, is); err == nil && i >= 0 {
		return all[i], nil
	}
	return 0, err
}

// jobOf splits an entry's name into its job, if it has one, and the name.
func jobOf(entry string) (job, name string) {
	if job, name, ok := strings.Cut(entry, ":"); ok {
		return job, name
	}
	return "", entry
}
