package container

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// open opens a path of the process's own root.
func (p *program) open(path string, flags int) ref {
	return p.call("open "+path, unix.SYS_OPENAT, here, p.text(path), uintptr(flags|unix.O_CLOEXEC), 0)
}

// openIn opens a path of the root that dir is the top of: symbolic links and .. do
// not lead out of it.
func (p *program) openIn(dir ref, path string, flags int, mode os.FileMode) ref {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode.Perm())
	}
	at := p.data(unsafe.Slice((*byte)(unsafe.Pointer(&how)), unsafe.Sizeof(how)))
	return p.call("open "+path+" in the container", unix.SYS_OPENAT2, dir, p.text(path), at, unsafe.Sizeof(how))
}

func (p *program) close(f ref) {
	p.allow(p.call("close", unix.SYS_CLOSE, f))
}

func (p *program) mkdir(path string, mode os.FileMode) ref {
	return p.call("make directory "+path, unix.SYS_MKDIRAT, here, p.text(path), uintptr(mode.Perm()))
}

// mount is mount(2) with paths of the process's own root.
func (p *program) mount(source, target, kind string, flags uintptr, data string) ref {
	return p.call("mount "+kind+" at "+target, unix.SYS_MOUNT, p.text(source), p.text(target), p.text(kind), flags, p.text(data))
}

// write makes a file's content; the file must be there and is not shortened.
func (p *program) write(what string, f ref, content []byte) ref {
	return p.call(what, unix.SYS_WRITE, f, p.data(content), uintptr(len(content)))
}

// send sends an open file to this process, and closes it there.
func (p *program) send(r *remote, f ref) {
	// The message names the file by its number, which is known only when the call
	// is made: dup3 gives it one that is known before.
	const known = 900
	p.call("keep a file", unix.SYS_DUP3, f, known, unix.O_CLOEXEC)
	word := p.space(1)
	vector := (*unix.Iovec)(unsafe.Pointer(&p.space(int(unsafe.Sizeof(unix.Iovec{})))[0]))
	*vector = unix.Iovec{Base: &word[0]}
	vector.SetLen(1)
	rights := unix.UnixRights(known)
	control := p.space(len(rights))
	copy(control, rights)
	message := (*unix.Msghdr)(unsafe.Pointer(&p.space(int(unsafe.Sizeof(unix.Msghdr{})))[0]))
	*message = unix.Msghdr{Iov: vector, Iovlen: 1, Control: &control[0]}
	message.SetControllen(len(rights))
	p.call("send a file", unix.SYS_SENDMSG, uintptr(r.fd), uintptr(unsafe.Pointer(message)), unix.MSG_NOSIGNAL)
	p.close(known)
	p.close(f)
}

// clone makes a detached copy of the mounts at an open path.
func (p *program) clone(what string, f ref, recursive bool) ref {
	flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	return p.call(what, unix.SYS_OPEN_TREE, f, p.text(""), uintptr(flags))
}

// change sets attributes of the mounts at an open path, and their propagation
// unless that is 0.
func (p *program) change(what string, f ref, set uint64, propagation uint64, recursive bool) ref {
	attr := unix.MountAttr{Attr_set: set, Propagation: propagation}
	flags := uintptr(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	at := p.data(unsafe.Slice((*byte)(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
	return p.call(what, unix.SYS_MOUNT_SETATTR, f, p.text(""), flags, at, unsafe.Sizeof(attr))
}

// attach puts a detached mount over an open path.
func (p *program) attach(what string, mount, target ref) ref {
	return p.call(what, unix.SYS_MOVE_MOUNT, mount, p.text(""), target, p.text(""),
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// create makes a new file system, detached. Options are key=value or flags.
func (p *program) create(kind, source string, options ...string) ref {
	fs := p.call("make "+kind, unix.SYS_FSOPEN, p.text(kind), unix.FSOPEN_CLOEXEC)
	p.config(kind, fs, "source="+source)
	for _, o := range options {
		p.config(kind, fs, o)
	}
	p.call("make "+kind, unix.SYS_FSCONFIG, fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
	m := p.call("make "+kind, unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	p.close(fs)
	return m
}

func (p *program) config(kind string, fs ref, option string) {
	key, value, hasValue := strings.Cut(option, "=")
	what := fmt.Sprintf("make %s with %s", kind, option)
	if hasValue {
		p.call(what, unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_STRING, p.text(key), p.text(value), 0)
		return
	}
	p.call(what, unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_FLAG, p.text(key), 0, 0)
}

// raiseLoopback sets up the one interface of a new network namespace.
func (p *program) raiseLoopback() {
	// struct ifreq: a name of 16 bytes, then the flags.
	request := make([]byte, 40)
	copy(request, "lo")
	binary.NativeEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_RUNNING)
	s := p.call("make socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	p.call("set up the loopback interface", unix.SYS_IOCTL, s, unix.SIOCSIFFLAGS, p.data(request))
	p.close(s)
}
