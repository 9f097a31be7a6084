package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/say/count"
)

// space is a mount namespace. As long as it is open the kernel gives its number to no
// other, so that its name means only it.
type space struct {
	file *os.File
	name string
}

// openSpace opens the mount namespace of a process.
func openSpace(pid int) (*space, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("open the container's mounts: %w", err)
	}
	return spaceOf(f)
}

func spaceOf(f *os.File) (*space, error) {
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &space{file: f, name: name}, nil
}

func (s *space) close() error { return s.file.Close() }

// mountSpace names the mount namespace of a process. The name is worth something only
// while the process or something else keeps the namespace.
func mountSpace(pid int) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/mnt")
}

// endWait is longer than the kernel needs to end a process that is not stuck.
const endWait = 5 * time.Second

// killAll ends every process in the namespace but one, and waits for them.
func (s *space) killAll(but int) error {
	if own, err := mountSpace(os.Getpid()); err != nil || own == s.name {
		return errors.Join(err, errors.New("end the container's processes: this is one of them"))
	}
	for end := time.Now().Add(endWait); ; {
		left, err := residents(s.name, but)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s of the container would not end", count.Of(len(left), "process"))
		}
		for _, pid := range left {
			s.kill(pid)
		}
	}
}

// kill ends a process if it is still one of the namespace, and gives it a moment.
func (s *space) kill(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended
	}
	defer unix.Close(fd)
	if name, err := mountSpace(pid); err != nil || name != s.name {
		return
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
}

// residents are the processes in a mount namespace, as far as the caller may see it.
func residents(name string, but int) ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid == but {
			continue
		}
		if s, err := mountSpace(pid); err == nil && s == name {
			all = append(all, pid)
		}
	}
	return all, nil
}

// rootName is what a process's root is mounted from; empty if the caller may not know.
func rootName(pid int) string {
	mounts, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		f, source := strings.Fields(before), strings.Fields(after)
		if len(f) > 4 && f[4] == "/" && len(source) > 1 {
			return source[1]
		}
	}
	return ""
}

// Sweep ends every process in the mount namespace that is open under a number; with a
// file, only if no process has that locked.
func Sweep(number, users string) error {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	s, err := spaceOf(os.NewFile(uintptr(fd), "namespace"))
	if err != nil {
		return err
	}
	defer s.close()
	if users != "" {
		f, err := os.OpenFile(filepath.Clean(users), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if !(&entryDir{users: f}).last() {
			return nil
		}
	}
	return s.killAll(0)
}
