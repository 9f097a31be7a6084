package nodes

import (
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/sys/thread"
)

//go:embed node-setup.sh
var nodeSetup string

//go:embed node-loop.sh
var nodeLoop string

// RebootProgram boots the node anew on which it runs.
//
//go:embed node-reboot.sh
var RebootProgram string

// nodeMark stands in the command line of every node's init process, before the
// node's name.
const nodeMark = "muster-node"

// node is one that is to be started.
type node struct {
	Name    string
	Address netip.Addr
	Binds   []Mount
	Files   []machine.File
	// EFA nodes have the folder of EFA's devices, which is empty here.
	EFA bool
	Log string
}

// start boots a node: namespaces, a root and an interface of its own, and an
// init process that runs slurmd. It returns the init process's ID. The caller is its
// parent; the node goes on when that ends.
func (l *Layout) start(m node) (pid int, err error) {
	log, err := os.OpenFile(m.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	err = thread.Do(unix.CLONE_NEWNS|unix.CLONE_NEWUTS|unix.CLONE_NEWIPC|unix.CLONE_NEWNET, func() error {
		if err := l.boot(m); err != nil {
			return err
		}
		if err := unix.Unshare(unix.CLONE_NEWPID); err != nil {
			return fmt.Errorf("make process namespace: %w", err)
		}
		if err := machine.StartClock(); err != nil {
			return err
		}
		args := l.initArgs(m.Name)
		// Not os.StartProcess: it may fork a probe first, which would become the
		// namespace's init and end it.
		pid, err = syscall.ForkExec(args[0], args, &syscall.ProcAttr{
			Dir:   "/",
			Env:   []string{"PATH=" + systemPath, "LC_ALL=C.UTF-8", "HOME=/root"},
			Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		return err
	})
	runtime.KeepAlive(null)
	return pid, err
}

// boot makes the machine around the calling thread.
func (l *Layout) boot(m node) error {
	if err := unix.Sethostname([]byte(m.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer unix.Close(fd)
	if err := thread.Off(func() error { return network.PlugIn(m.Address, fd) }); err != nil {
		return err
	}
	if err := network.Configure(m.Address); err != nil {
		return err
	}
	r := machine.Root{Dir: l.machineDir(m.Name), Binds: m.Binds, Files: m.Files, Dirs: []string{spoolDir}, Host: "/", EFA: m.EFA}
	return r.Enter()
}

// initArgs is the command line of a node's init process: a shell that is as
// small as a process can be, because there are as many as nodes. As root it has
// no right to make devices, load modules, set clocks or touch raw hardware;
// as an ordinary user it is that user again.
func (l *Layout) initArgs(name string) []string {
	sh := []string{"/bin/sh", "-c", nodeSetup, nodeMark, name, nodeLoop}
	if l.Rootless {
		return append(sh, "unshare", "--user", "--map-user="+strconv.Itoa(l.UID), "--map-group="+strconv.Itoa(l.GID), "--")
	}
	return append(sh, "setpriv", "--bounding-set="+droppedCapabilities, "--")
}

const (
	// spoolDir is slurmd's SlurmdSpoolDir.
	spoolDir   = "/var/spool/slurmd"
	systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// droppedCapabilities are what no job of root's gets back: dac_read_search opens the
	// host's files by their handles, net_raw listens to the wire, bpf and perfmon look
	// into the kernel. sys_admin and sys_ptrace stay: slurmstepd needs them to join
	// containers of other users, and to have the kernel mount images. So root is kept
	// from accidents, not locked in.
	droppedCapabilities = "-mknod,-sys_rawio,-sys_module,-sys_time,-sys_boot,-syslog,-mac_admin,-mac_override," +
		"-dac_read_search,-net_raw,-linux_immutable,-sys_pacct,-wake_alarm,-block_suspend,-audit_control,-audit_read,-bpf,-perfmon,-checkpoint_restore"
)

// clean removes what a node that is gone had for itself.
func (l *Layout) clean(name string) error {
	if !nodeName(name) {
		return fmt.Errorf("remove the folders of %q: it is not a node's name", name)
	}
	return errors.Join(os.RemoveAll(l.machineDir(name)), os.RemoveAll(filepath.Join(l.Dir, "nodes", name)))
}
