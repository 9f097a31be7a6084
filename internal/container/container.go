// Package container makes an unprivileged container around a squashfs image and
// runs commands in it, as Enroot and Pyxis do: the host's processes, network and
// shared memory, another root.
//
// What it promises: the image is mounted, never unpacked. No process gains a right
// outside the container's own user namespace, and no setuid program is needed. The
// kernel reads an image by itself only if root alone could make and change it. When a
// container ends, or its watcher is killed, no process, mount, namespace, loop device
// or file of it is left.
//
//	hold or run ──┬── squashfuse             (host's namespaces; unless the kernel mounts)
//	 (watcher)    └── the container's process (its namespaces: user, mount, ...)
//	                   hold: keeps them for the tasks that join
//	                   run:  becomes the command
package container

import (
	"os"

	"golang.org/x/sys/unix"
)

// Options say which container is to be made.
type Options struct {
	// Image is the path of a squashfs file. It may be empty for a name that exists.
	Image string
	// Absent is added to the error of an image that does not exist.
	Absent string
	Mounts []Mount
	// Workdir is the directory to work in; empty is the image's own.
	Workdir string
	Name    Name
	// Writable lets the container change its root; otherwise that is read-only.
	Writable bool
	// MountHome shows the user's home directory.
	MountHome bool
	// RemapRoot makes the user root in the container, and only there.
	RemapRoot bool
	// Entrypoint has the image's entrypoint run once, for the environment that it
	// leaves; EntrypointLog shows what it prints.
	Entrypoint, EntrypointLog bool
	// Keep are variables whose value outside wins over the image's.
	Keep    []string
	Unshare Unshare
	// Save is the file into which the root is written in the end.
	Save string
	// Seal gets that file before it has its name, to add to its end; nil adds nothing.
	Seal func(f *os.File) error `json:"-"`
	// UpperSize limits what may be written in memory, as tmpfs has it: 4g, 50%.
	UpperSize string
	// State is the directory for named containers; empty looks for one.
	State string
	// Dir is what relative paths are relative to.
	Dir string
	// CDI are directories with specifications of devices; empty is the usual ones.
	CDI []string
	// GPUs is where NVIDIA's driver tells of its GPUs; empty is its usual place.
	GPUs string
	// User is who the container is for.
	User User
	// Environ is the environment outside.
	Environ []string
	// Notice tells the user something; it may be called until the container is made.
	Notice func(string) `json:"-"`
	// Verbose has more of that.
	Verbose bool
	// Describe reads what an image file says of itself; nil is nothing.
	Describe func(f *os.File) (Config, bool, error) `json:"-"`
}

// Config is what an image asks for.
type Config struct {
	Env             []string
	Entrypoint, Cmd []string
	Workdir         string
	Volumes         []string
}

// User is a user with groups, by number.
type User struct {
	UID, GID int
	Groups   []int
}

// Unshare says which further namespaces are the container's own.
type Unshare struct{ Net, IPC, UTS bool }

// namespace is a kind of namespaces: its name in /proc/PID/ns, its name for people, and
// what clone(2) makes one by.
type namespace struct {
	name, word string
	flag       int
}

func (u Unshare) namespaces() []namespace {
	var all []namespace
	if u.IPC {
		all = append(all, namespace{"ipc", "IPC", unix.CLONE_NEWIPC})
	}
	if u.UTS {
		all = append(all, namespace{"uts", "UTS", unix.CLONE_NEWUTS})
	}
	if u.Net {
		all = append(all, namespace{"net", "network", unix.CLONE_NEWNET})
	}
	return all
}

// Container is a container that is there.
type Container struct {
	// PID is the process that holds its namespaces.
	PID int
	// Namespaces are the names in /proc/PID/ns, in the order in which to join.
	Namespaces []string
	Workdir    string
	// Set are variables as K=V, Unset names of variables that go.
	Set, Unset []string
}
