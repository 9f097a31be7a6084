package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
)

// Listed is a container that is kept or runs.
type Listed struct {
	// Name is empty for one without a name, which is there while it runs.
	Name  string
	Job   string
	Image string
	// Created is when it was made; zero if that is not known.
	Created time.Time
	// PID is a process in it, or the one that watches over it; 0 if it does not run.
	PID int
	// Dir is where what it has written is kept.
	Dir string
}

// List finds a user's containers on this machine: those with a name and, at the end,
// those that run without one.
func List(u User, state string) ([]Listed, error) {
	var all []Listed
	for _, place := range existing(u, state) {
		entries, err := os.ReadDir(place)
		if err != nil {
			return all, fmt.Errorf("list containers: %w", err)
		}
		for _, e := range entries {
			l, found, err := listed(filepath.Join(place, e.Name()), u)
			if err != nil {
				return all, err
			}
			if found {
				all = append(all, l)
			}
		}
	}
	nameless, err := watchers(u)
	return append(all, nameless...), err
}

func listed(dir string, u User) (Listed, bool, error) {
	k, exists, err := (&entryDir{dir: dir}).read(u)
	if err != nil || !exists || k.Step {
		return Listed{}, false, err
	}
	l := Listed{Image: k.Image, Created: k.Created, Dir: dir}
	l.Job, l.Name = jobOf(filepath.Base(dir))
	l.PID, err = k.member()
	return l, true, err
}

// watchers are the processes that watch over containers without a name.
func watchers(u User) ([]Listed, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !belongs(pid, u) {
			continue // it ended, or is another's
		}
		if image, ok := watched(line); ok {
			all = append(all, Listed{Image: image, PID: pid})
		}
	}
	// The container's process is a copy of its watcher until it becomes a command.
	return slices.DeleteFunc(slices.Clone(all), func(l Listed) bool {
		parent := parentOf(l.PID)
		return slices.ContainsFunc(all, func(o Listed) bool { return o.PID == parent })
	}), nil
}

// statusField is a line of a process's status; empty if the process has ended.
func statusField(pid int, name string) []string {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil
	}
	_, after, _ := strings.Cut(string(status), "\n"+name+":")
	line, _, _ := strings.Cut(after, "\n")
	return strings.Fields(line)
}

func parentOf(pid int) int {
	parent, _ := strconv.Atoi(strings.Join(statusField(pid, "PPid"), ""))
	return parent
}

func belongs(pid int, u User) bool {
	f := statusField(pid, "Uid")
	return len(f) > 0 && f[0] == strconv.Itoa(u.UID)
}

// watched reads a command line: which image it makes a container without a name of.
func watched(line []byte) (image string, ok bool) {
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if len(args) < 4 || filepath.Base(args[0]) != "muster" || args[1] != "container" {
		return "", false
	}
	args = args[2:]
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	for i, a := range args {
		if a == "--name" || strings.HasPrefix(a, "--name=") {
			return "", false
		}
		if v, ok := strings.CutPrefix(a, "--image="); ok && args[0] == "hold" {
			image = v
		} else if a == "--image" && args[0] == "hold" && i+1 < len(args) {
			image = args[i+1]
		}
	}
	if args[0] == "run" {
		image = firstWord(args[1:])
	}
	return image, image != "" && (args[0] == "run" || args[0] == "hold")
}

// wordFlags are flags of run whose value is the next word.
var wordFlags = []string{"--mounts", "--workdir", "--env", "--unshare", "--save", "--upper-size", "--state"}

// firstWord is the first argument that is neither a flag nor the value of one.
func firstWord(args []string) string {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && (i == 0 || !slices.Contains(wordFlags, args[i-1])) {
			return a
		}
	}
	return ""
}

// errRunning says that a container cannot be removed while it runs.
var errRunning = errors.New("it is running")

// Remove removes what a named container has written. It fails with fs.ErrNotExist if
// there is none, and with errRunning if it runs.
func Remove(u User, state string, n Name) error {
	found := false
	for _, place := range existing(u, state) {
		dir := filepath.Join(place, n.entry())
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		found = true
		if err := asUser(u, func() error { return removeEntry(dir, u) }); err != nil {
			return fmt.Errorf("remove container %s: %w", n.Name, err)
		}
	}
	if !found {
		return fmt.Errorf("remove container %s: %w", n.Name, fs.ErrNotExist)
	}
	return nil
}

func removeEntry(dir string, u User) error {
	if err := own.Check(filepath.Dir(dir), u.UID); err != nil {
		return err
	}
	users, err := os.OpenFile(filepath.Join(dir, "users"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return removeTree(dir)
	}
	if err != nil {
		return err
	}
	defer users.Close()
	if err := unix.Flock(int(users.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errRunning
	}
	return removeTree(dir)
}

// RemoveJob removes all that the names of a job have left, of one user or, for root,
// of all. What still runs is left and is an error.
func RemoveJob(u User, state, job string, allUsers bool) error {
	users := []User{u}
	if allUsers {
		users = usersWithState(state)
	}
	var errs []error
	for _, u := range users {
		for _, place := range existing(u, state) {
			dirs, _ := os.ReadDir(place)
			for _, d := range dirs {
				if j, _ := jobOf(d.Name()); j == job {
					errs = append(errs, asUser(u, func() error { return removeEntry(filepath.Join(place, d.Name()), u) }))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// usersWithState are the users who have a place for named containers.
func usersWithState(state string) []User {
	ids := map[int]bool{}
	for _, p := range places(User{}, state) {
		before := strings.TrimSuffix(p.name, "0")
		dirs, _ := os.ReadDir(p.dir)
		for _, d := range dirs {
			name, ok := strings.CutPrefix(own.Name(d.Name()), before)
			if id, err := strconv.Atoi(name); ok && err == nil {
				ids[id] = true
			}
		}
	}
	var all []User
	for id := range ids {
		all = append(all, User{UID: id, GID: id})
	}
	return all
}
