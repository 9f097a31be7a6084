package container

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fuseServer is a squashfuse that serves an image. It lives outside the container:
// when the container's last mount is gone, the kernel tells it so and it ends.
type fuseServer struct {
	cmd    *exec.Cmd
	stderr *limitedBuffer
	ended  chan struct{}
	err    error // after ended
}

// programDirs are where programs of the host are looked for, whatever the user's
// PATH says.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

func hostProgram(names ...string) (string, error) {
	for _, n := range names {
		for _, d := range programDirs {
			if info, err := os.Stat(d + "/" + n); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
				return d + "/" + n, nil
			}
		}
	}
	return "", fmt.Errorf("there is no %s on this machine", strings.Join(names, " or "))
}

// calm are signals to a whole group of processes. The holder and squashfuse ignore them,
// as the container's commands need both while they handle such a signal.
var calm = []os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGPIPE, unix.SIGALRM,
}

// startFuse serves an image over an open /dev/fuse. uid and gid own every file, as
// numbers of the mount's user namespace. The signals of calm are ignored from
// now on, in this process, too, but for those of a command, which are heard.
func startFuse(image, fuse *os.File, uid, gid int, u User, heard chan<- os.Signal) (*fuseServer, error) {
	program, err := hostProgram("squashfuse")
	if err != nil {
		return nil, withHint(err, "run `muster doctor`, or install the package squashfuse")
	}
	signal.Ignore(calm...)
	s := &fuseServer{stderr: &limitedBuffer{}, ended: make(chan struct{})}
	s.cmd = exec.Command(program, "-f", "-o", fmt.Sprintf("uid=%d,gid=%d", uid, gid), "/proc/self/fd/3", "/dev/fd/4")
	s.cmd.Env = []string{"PATH=/usr/bin:/bin"}
	s.cmd.Dir = "/"
	s.cmd.ExtraFiles = []*os.File{image, fuse}
	s.cmd.Stderr, s.cmd.Stdout = s.stderr, s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 && u.UID != 0 {
		s.cmd.SysProcAttr.Credential = u.credential()
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if heard != nil {
		signal.Notify(heard, passedOn()...)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

func (u User) credential() *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
	for _, g := range u.Groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

// problem is what the server said when it ended.
func (s *fuseServer) problem() error {
	said := strings.TrimSpace(s.stderr.String())
	if said == "" && s.err != nil {
		said = s.err.Error()
	}
	return errors.New("squashfuse ended too early: " + said)
}

// limitedBuffer keeps the first kilobytes of what is written.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(data []byte) (int, error) {
	const limit = 16 << 10
	if room := limit - b.Len(); room > 0 {
		b.Buffer.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}
