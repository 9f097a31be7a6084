package container

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// runDir is where root has a place to mount images. It is made once and stays.
const runDir = "/run/muster"

// realRoot tells whether the process may do what only the machine's root may.
func realRoot() bool {
	if os.Geteuid() != 0 {
		return false
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || strings.Join(strings.Fields(string(ids)), " ") != "0 0 4294967295" {
		return false
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err = unix.Capget(&header, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// mountByKernel mounts an image at a directory so that what belongs to root in it
// belongs to the user. The mount is in the calling thread's namespace, which must
// be its own. The loop device goes with the last mount.
func mountByKernel(f *os.File, at string, u User) error {
	loop, err := attachLoop(f, at)
	if err != nil {
		return err
	}
	defer loop.Close()
	mount, err := newSquashfs(fmt.Sprintf("/proc/self/fd/%d", loop.Fd()))
	if err != nil {
		return fmt.Errorf("mount %s: %w", f.Name(), err)
	}
	defer unix.Close(mount)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if u.UID != 0 {
		space, err := idSpace(u)
		if err != nil {
			return err
		}
		defer space.Close()
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(space.Fd())
	}
	if err := unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return fmt.Errorf("give %s to the user: %w", f.Name(), err)
	}
	return unix.MoveMount(mount, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func newSquashfs(device string) (int, error) {
	fs, err := unix.Fsopen("squashfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	err = errors.Join(
		unix.FsconfigSetString(fs, "source", device),
		unix.FsconfigSetFlag(fs, "ro"),
	)
	if err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// attachLoop makes an open image a block device that can only be read and ends with
// its last user. Machines of local clusters have no such devices in /dev: there at
// is used for a /dev of the kernel's, which only this thread sees.
func attachLoop(f *os.File, at string) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	dev := "/dev"
	if err != nil {
		if err := unix.Mount("devtmpfs", at, "devtmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
			return nil, fmt.Errorf("reach loop devices: %w", err)
		}
		defer unix.Unmount(at, unix.MNT_DETACH)
		dev = at
		if control, err = os.OpenFile(dev+"/loop-control", os.O_RDWR, 0); err != nil {
			return nil, err
		}
	}
	defer control.Close()
	config := unix.LoopConfig{Fd: uint32(f.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR}}
	copy(config.Info.File_name[:], f.Name())
	const attempts = 64 // others may take the free device that we were told of
	for range attempts {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a loop device: %w", err)
		}
		loop, err := os.OpenFile(dev+"/loop"+strconv.Itoa(n), os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach %s: %w", loop.Name(), err)
		}
	}
	return nil, errors.New("find a loop device: others take them all")
}

// idSpace makes a user namespace in which root is the user: a mount with it shows
// what root owns as the user's.
func idSpace(u User) (*os.File, error) {
	r, err := newRemote()
	if err != nil {
		return nil, err
	}
	defer r.end()
	p := r.program()
	p.call("make a user namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	if _, err := r.do(p); err != nil {
		return nil, err
	}
	proc := "/proc/" + strconv.Itoa(r.pid)
	err = errors.Join(
		os.WriteFile(proc+"/uid_map", fmt.Appendf(nil, "0 %d 1", u.UID), 0),
		os.WriteFile(proc+"/gid_map", fmt.Appendf(nil, "0 %d 1", u.GID), 0),
	)
	if err != nil {
		return nil, fmt.Errorf("map root to user %d: %w", u.UID, err)
	}
	return os.Open(proc + "/ns/user")
}
