package machine

import (
	_ "embed"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/sys/thread"
)

// firstBoot is the first process of a machine: what cloud-init does with user data.
//
//go:embed cloud-init.sh
var firstBoot string

// Launch boots a machine, and returns when its first process runs.
func (w *World) Launch(i Instance) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.machines[i.ID] != nil {
		return nil
	}
	dir := filepath.Join(w.Dir, "roots", i.ID)
	if err := w.image(dir, i); err != nil {
		return fmt.Errorf("prepare %s: %w", i.ID, err)
	}
	m := &booted{Instance: i}
	// Before it runs: it asks for its metadata at once.
	w.machines[i.ID] = m
	pid, err := w.start(dir, i)
	if err != nil {
		delete(w.machines, i.ID)
		return fmt.Errorf("boot %s: %w", i.ID, err)
	}
	m.pid = pid
	go w.reap(m)
	for _, d := range w.disks[i.ID] {
		if err := d.show(pid); err != nil {
			return fmt.Errorf("show %s to %s: %w", d.Volume, i.ID, err)
		}
	}
	return w.note(i.ID, pid)
}

// note leaves the number of a machine's first process, in this namespace, for those
// who want to enter it.
func (w *World) note(id string, pid int) error {
	path := filepath.Join(w.Dir, "pids", id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(pid)+"\n"), 0o644)
}

// reap waits for the end of a machine. Its process is reaped with the lock held, when it is forgotten: as long as
// w.machines has it, its process ID and /proc/PID are its own, be it dying or dead.
func (w *World) reap(m *booted) {
	waitEnd(m.pid)
	w.mu.Lock()
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(m.pid, &status, 0, nil) // it has ended: this neither waits nor is interrupted
	doomed := m.doomed
	delete(w.machines, m.ID)
	for _, d := range w.disks[m.ID] {
		_ = d.loop.Close() // the device goes with its last mount
	}
	delete(w.disks, m.ID)
	w.mu.Unlock()
	_ = machine.Unplug(machine.Port(m.Address)) // gone with its namespace at the latest
	_ = os.RemoveAll(filepath.Join(w.Dir, "roots", m.ID))
	if !doomed {
		w.Log.Info("machine shut down", "instance", m.ID, "status", status.ExitStatus())
		w.Ended(m.ID)
	}
}

// waitEnd waits until a child of this process has ended, and leaves it to be reaped.
func waitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// Terminate ends a machine at once. None is no error.
func (w *World) Terminate(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machines[id]
	if m == nil {
		return nil
	}
	m.doomed = true
	if err := unix.Kill(m.pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("end %s: %w", id, err)
	}
	return nil
}

// start makes the machine's namespaces and its first process in them.
func (w *World) start(dir string, i Instance) (pid int, err error) {
	if err := os.MkdirAll(filepath.Dir(w.Console(i.ID)), 0o755); err != nil {
		return 0, err
	}
	log, err := os.OpenFile(w.Console(i.ID), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
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
		if err := w.surround(dir, i); err != nil {
			return err
		}
		if err := unix.Unshare(unix.CLONE_NEWPID); err != nil {
			return fmt.Errorf("make process namespace: %w", err)
		}
		if err := machine.StartClock(); err != nil {
			return err
		}
		// Not os.StartProcess: it may fork a probe first, which would become the
		// namespace's init and end it.
		pid, err = syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", firstBoot, "cloud-init"}, &syscall.ProcAttr{
			Dir: "/", Files: []uintptr{null.Fd(), log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
			Env: []string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root",
				"AWS_ENDPOINT_URL=" + w.Endpoint, "MUSTER_CLOUD=" + Metadata.String(), "MUSTER_CLOUD_USER=" + i.User,
			},
		})
		return err
	})
	runtime.KeepAlive(null)
	return pid, err
}

// surround makes the machine around the calling thread.
func (w *World) surround(dir string, i Instance) error {
	if err := unix.Sethostname([]byte(hostName(i.Address))); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer unix.Close(fd)
	if err := thread.Off(func() error { return w.network.PlugIn(i.Address, fd) }); err != nil {
		return err
	}
	if err := w.network.Configure(i.Address); err != nil {
		return err
	}
	if err := w.route(); err != nil {
		return err
	}
	if i.Public.IsValid() {
		if err := addAddress(i.Public); err != nil {
			return err
		}
		if err := thread.Off(func() error { return w.routeTo(i.Public) }); err != nil {
			return err
		}
	}
	root := machine.Root{Dir: dir, Host: "/", Dirs: []string{"/var/spool/slurmd"}}
	return root.Enter()
}

// hostName is EC2's private name of an address: ip-10-0-0-5.
func hostName(a netip.Addr) string { return "ip-" + strings.ReplaceAll(a.String(), ".", "-") }

// route sends everything to the router, which answers for the metadata service.
func (w *World) route() error {
	link, err := netlink.LinkByName(machine.Interface)
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: w.router.AsSlice()}); err != nil {
		return fmt.Errorf("add route: %w", err)
	}
	return nil
}

// routeTo makes a public address one that is reached over the bridge.
func (w *World) routeTo(a netip.Addr) error {
	link, err := netlink.LinkByName(machine.Interface)
	if err != nil {
		return err
	}
	to, err := netlink.ParseIPNet(a.String() + "/32")
	if err != nil {
		return err
	}
	if err := netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: to, Scope: netlink.SCOPE_LINK}); err != nil {
		return fmt.Errorf("add route to %s: %w", a, err)
	}
	return nil
}

// addAddress gives the interface of the calling thread's network another address.
func addAddress(a netip.Addr) error {
	link, err := netlink.LinkByName(machine.Interface)
	if err != nil {
		return err
	}
	prefix, err := netlink.ParseAddr(a.String() + "/32")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, prefix); err != nil {
		return fmt.Errorf("add address %s: %w", a, err)
	}
	return nil
}

// image writes into the upper layer of the machine's root what a machine image of
// AWS has and this machine lacks, or what here works in another way.
func (w *World) image(dir string, i Instance) error {
	files := map[string]string{
		"etc/resolv.conf": "nameserver " + Resolver.String() + "\n",
		"etc/hosts":       "127.0.0.1 localhost\n",
		"etc/fstab":       "",
		"etc/hostname":    hostName(i.Address) + "\n",
	}
	for _, f := range []string{"mount.lustre", "mount.nfs", "mount.nfs4", "shutdown", "poweroff", "exportfs"} {
		files["usr/sbin/"+f] = "#!/bin/sh\nexec " + guest + " " + f + " \"$@\"\n"
	}
	files["usr/bin/lsblk"] = "#!/bin/sh\nexec " + guest + " lsblk \"$@\"\n"
	for name, text := range files {
		path := filepath.Join(dir, "upper", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return err
		}
	}
	data, err := os.ReadFile(w.Program)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, "upper", guest)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(at, data, 0o755); err != nil {
		return err
	}
	return writeGPUs(filepath.Join(dir, "upper", "etc", "muster-cloud-gpus"), i.GPUs)
}

// guest is where the program is that stands for the machine's own devices.
const guest = "/usr/lib/muster-cloud"

// writeGPUs notes how many GPUs the machine has: cloud-init.sh makes their devices.
// They can be counted and nothing else.
func writeGPUs(path string, count int) error {
	return os.WriteFile(path, []byte(strconv.Itoa(count)+"\n"), 0o644)
}
