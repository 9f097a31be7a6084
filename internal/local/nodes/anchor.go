package nodes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/sys/thread"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// The anchor is the first process of a cluster and its first process only: it
// holds the namespaces, keeps the head node's services running, and reaps.
// Every process of the cluster lives in its process namespace, so when the
// anchor ends, the kernel ends them all; nothing else ends the cluster.
//
//	host ── anchor (namespaces: user if not root, process, mount, network, ...)
//	          ├── controller, S3 server       (host's root, cluster's network)
//	          ├── munged, MariaDB, Slurm      (head node's root)
//	          └── init of node 1, 2, ...      (namespaces of their own)

// AnchorProcess identifies the anchor as the host sees it.
type AnchorProcess struct {
	PID int `json:"pid"`
	// Started is the process's start time in clock ticks since the machine's
	// boot; with PID it identifies the process for ever.
	Started uint64 `json:"started"`
}

// StartAnchor starts the cluster's anchor and returns when it has its own
// namespaces and is on record. The anchor does not depend on the caller, but one
// that could not be recorded, because the caller died, ends by itself.
func (l *Layout) StartAnchor(muster string) (AnchorProcess, error) {
	log, err := os.OpenFile(l.Path("log", "anchor.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return AnchorProcess{}, err
	}
	defer log.Close()
	recorded, record, err := os.Pipe()
	if err != nil {
		return AnchorProcess{}, err
	}
	defer recorded.Close()
	defer record.Close()
	cmd := exec.Command(muster, "agent", "anchor", l.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.ExtraFiles = []*os.File{recorded} // recordedFD
	cmd.Env = []string{"PATH=" + systemPath, "LC_ALL=C.UTF-8", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if l.Rootless {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: l.UID, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: l.GID, Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return AnchorProcess{}, fmt.Errorf("start anchor: %w", err)
	}
	started, err := startTime(cmd.Process.Pid)
	if err != nil {
		return AnchorProcess{}, fmt.Errorf("look at anchor: %w", err)
	}
	a := AnchorProcess{PID: cmd.Process.Pid, Started: started}
	if err := whole.JSON(l.anchorFile(), a); err != nil {
		return a, err
	}
	_, err = record.Write([]byte{1})
	return a, err
}

// recordedFD is where the anchor hears that it is on record.
const recordedFD = 3

// awaitRecord returns when the anchor is on record. It fails if the process that started
// it died before that: without a record the anchor could never be found.
func awaitRecord() error {
	recorded := os.NewFile(recordedFD, "recorded")
	defer recorded.Close()
	if _, err := recorded.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("wait to be recorded: %w", err)
	}
	return nil
}

// closeInherited closes what this process has of others' files: from a file descriptor on, all that are passed on to programs, which
// none of its own is. A lock or a pipe of whoever called `muster up` would live as long as the cluster.
func closeInherited(from int) error {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("close the caller's files: %w", err)
	}
	for _, entry := range all {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < from {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // it is closed in any case
		}
	}
	return nil
}

func (l *Layout) anchorFile() string { return l.Path("anchor.json") }

// RunAnchor is the anchor's main program. It returns when ctx ends.
func (l *Layout) RunAnchor(ctx context.Context, r Record) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("the anchor must be the first process of its own namespace")
	}
	if err := closeInherited(recordedFD + 1); err != nil {
		return err
	}
	if err := awaitRecord(); err != nil {
		return err
	}
	// Sockets are named from here: their own paths may be too long.
	if err := os.Chdir(l.Dir); err != nil {
		return err
	}
	if err := l.makeWorld(r); err != nil {
		return err
	}
	head, err := l.makeHead(r)
	if err != nil {
		return err
	}
	services, err := supervise.Load(l.Path("etc", "services.json"))
	if err != nil {
		return err
	}
	return supervise.Run(ctx, supervise.Config{
		Services:   services,
		StatusFile: l.Path("run", "services.json"),
		Logs:       supervise.Logs{Patterns: []string{l.Path("log", "*.log"), l.Path("log", "nodes", "*.log")}, Limit: logLimit},
		Spawn:      head.spawn,
	})
}

// logLimit is how large each log of a daemon or a node may become, twice.
const logLimit = 16 << 20

// makeWorld sets up the namespaces that the anchor was born in.
func (l *Layout) makeWorld(r Record) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("detach mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := os.MkdirAll(l.Path("mnt"), 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", l.Path("mnt"), "tmpfs", unix.MS_NODEV, "mode=755,size=50%"); err != nil {
		return fmt.Errorf("mount machines' roots: %w", err)
	}
	if err := unix.Sethostname([]byte(r.HeadName)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return makeFabric()
}

// head is a thread that lives in the head node's root and starts its services.
type head struct {
	spawns chan func()
}

// headMount is the descriptor under which the anchor holds the head node's mount
// namespace; /proc/ANCHOR/fd/HeadMount leads into it.
const headMount = 100

func (l *Layout) makeHead(r Record) (*head, error) {
	h := &head{spawns: make(chan func())}
	made := make(chan error, 1)
	go func() {
		made <- thread.Do(unix.CLONE_NEWNS, func() error {
			files, err := ownFiles(r)
			if err != nil {
				return err
			}
			root := machine.Root{Dir: l.machineDir(headDir), Host: "/", Files: files}
			root.Binds = []Mount{{Source: l.Path("nodes", headDir, "tmp"), Target: "/tmp"}}
			for _, d := range r.ScratchDirs {
				root.Binds = append(root.Binds, Mount{Source: l.Path("nodes", headDir, "scratch"), Target: d})
			}
			root.Binds = append(append(root.Binds, present(r.Shared)...), r.HeadOnly...)
			if err := root.Enter(); err != nil {
				return fmt.Errorf("make head node's root: %w", err)
			}
			if err := holdNamespace(); err != nil {
				return err
			}
			made <- nil
			for f := range h.spawns {
				f()
			}
			return nil
		})
	}()
	return h, <-made
}

// holdNamespace keeps the calling thread's mount namespace at descriptor headMount.
func holdNamespace() error {
	fd, err := unix.Open("/proc/"+strconv.Itoa(os.Getpid())+"/task/"+strconv.Itoa(unix.Gettid())+"/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open head node's mounts: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Dup3(fd, headMount, unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("hold head node's mounts: %w", err)
	}
	return nil
}

// spawn starts a service of the head node, inside its root or beside it.
func (h *head) spawn(inside bool, args, env []string, log *os.File) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	start := func() {
		pid, err = syscall.ForkExec(args[0], args, &syscall.ProcAttr{
			Env:   append([]string{"PATH=" + systemPath, "LC_ALL=C.UTF-8", "HOME=/"}, env...),
			Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	}
	if !inside {
		start()
		return pid, err
	}
	done := make(chan struct{})
	h.spawns <- func() { start(); close(done) }
	<-done
	return pid, err
}
