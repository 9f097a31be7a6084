package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Disk is an EBS volume at a machine.
type Disk struct {
	Instance, Volume string
	GiB              int
}

// disk is a volume that a machine sees, as a loop device over a file. The device goes
// once loop is closed and nothing is mounted from it.
type disk struct {
	Disk
	loop   *os.File
	number uint32
	// name is the device's in the machine, such as nvme1n1.
	name string
}

// Attach gives a machine a volume, also before it boots. What was written on a volume
// is there again at the next machine.
func (w *World) Attach(d Disk) error {
	path := filepath.Join(w.Dir, "volumes", d.Volume)
	if err := sparse(path, int64(d.GiB)<<30); err != nil {
		return fmt.Errorf("make %s: %w", d.Volume, err)
	}
	loop, number, err := loopOver(path)
	if err != nil {
		return fmt.Errorf("make a loop device for %s: %w", d.Volume, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &disk{Disk: d, loop: loop, number: number, name: fmt.Sprintf("nvme%dn1", len(w.disks[d.Instance])+1)}
	w.disks[d.Instance] = append(w.disks[d.Instance], one)
	if m := w.machines[d.Instance]; m != nil && m.pid != 0 {
		return one.show(m.pid)
	}
	return nil
}

// Detach takes a volume away. A file system that is mounted from it stays so, as far
// as the machine can tell.
func (w *World) Detach(d Disk) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.disks[d.Instance], func(x *disk) bool { return x.Volume == d.Volume })
	if i < 0 {
		return nil // it went with its machine
	}
	one := w.disks[d.Instance][i]
	w.disks[d.Instance] = slices.Delete(w.disks[d.Instance], i, i+1)
	err := one.loop.Close()
	if m := w.machines[d.Instance]; m != nil && m.pid != 0 {
		err = errors.Join(err, one.hide(m.pid))
	}
	return err
}

func sparse(path string, size int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// loopOver makes a loop device that frees itself.
func loopOver(path string) (*os.File, uint32, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	defer control.Close()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	for range 20 { // somebody else may take the free one first
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, 0, err
		}
		name := fmt.Sprintf("/dev/loop%d", n)
		err = unix.Mknod(name, unix.S_IFBLK|0o600, int(unix.Mkdev(loopMajor, uint32(n))))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, 0, err
		}
		loop, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, 0, err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		if err = unix.IoctlLoopConfigure(int(loop.Fd()), &config); err == nil {
			return loop, uint32(n), nil
		}
		if err = errors.Join(err, loop.Close()); !errors.Is(err, unix.EBUSY) {
			return nil, 0, err
		}
	}
	return nil, 0, errors.New("no loop device is free")
}

// loopMajor is the number of loop devices' driver.
const loopMajor = 7

// serial is what an EBS volume's controller says of itself: its ID without the hyphen.
func (d *disk) serial() string { return strings.ReplaceAll(d.Volume, "-", "") }

// link is udev's name of the device.
func (d *disk) link() string { return "nvme-Amazon_Elastic_Block_Store_" + d.serial() }

// byID is where udev's names are.
const byID = "dev/disk/by-id"

// show makes the device in a machine's /dev.
func (d *disk) show(pid int) error {
	return inRoot(pid, func(root string) error {
		if err := os.MkdirAll(filepath.Join(root, byID), 0o755); err != nil {
			return err
		}
		err := unix.Mknod(filepath.Join(root, "dev", d.name), unix.S_IFBLK|0o660, int(unix.Mkdev(loopMajor, d.number)))
		if err != nil {
			return err
		}
		return os.Symlink("../../"+d.name, filepath.Join(root, byID, d.link()))
	})
}

// hide takes the device out of a machine's /dev.
func (d *disk) hide(pid int) error {
	return inRoot(pid, func(root string) error {
		return errors.Join(os.Remove(filepath.Join(root, byID, d.link())), os.Remove(filepath.Join(root, "dev", d.name)))
	})
}

// inRoot does something in the root of a machine. A machine that is dying has no root any more, at the latest when its
// first process waits to be reaped: nothing can be done in it, and nobody would see it.
func inRoot(pid int, do func(root string) error) error {
	root := fmt.Sprintf("/proc/%d/root", pid)
	err := do(root)
	if _, gone := os.Stat(root); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	return err
}

// listDisks is lsblk inside a machine: the kernel's own list has the disks of all of
// this machine. It knows the one way in which it is called.
func listDisks(args []string) error {
	if !slices.Contains(args, "--json") || !slices.Contains(args, "--paths") {
		return fmt.Errorf("nothing but JSON with paths is made here, not %q", args)
	}
	type device struct {
		Name   string  `json:"name"`
		Type   string  `json:"type"`
		Model  string  `json:"model"`
		Serial string  `json:"serial"`
		FSType *string `json:"fstype"`
		Mount  *string `json:"mountpoint"`
	}
	all := []device{}
	links, err := filepath.Glob("/" + byID + "/nvme-Amazon_Elastic_Block_Store_*")
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for _, link := range links {
		path, err := filepath.EvalSymlinks(link)
		if err != nil {
			return err
		}
		_, serial, _ := strings.Cut(link, "Block_Store_")
		d := device{Name: path, Type: "disk", Model: "Amazon Elastic Block Store", Serial: serial}
		// It ends with 2 where there is nothing on the device.
		if kind, err := exec.Command("blkid", "-p", "-s", "TYPE", "-o", "value", path).Output(); err == nil {
			d.FSType = new(strings.TrimSpace(string(kind)))
		}
		for line := range strings.Lines(string(mounts)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == path {
				d.Mount = &f[1]
			}
		}
		all = append(all, d)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"blockdevices": all})
}
