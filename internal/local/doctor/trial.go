package doctor

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// nodeFlags are the namespaces that a node has of its own.
const nodeFlags = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// overlayTrial mounts an overlay of /usr with its upper folder on a tmpfs, over
// /tmp of a mount namespace that ends with the trial. Without root's rights
// the overlay's own attributes are kept among the user's; the first argument is
// that option.
const overlayTrial = `mount -t tmpfs tmpfs /tmp
mkdir /tmp/upper /tmp/work /tmp/root
mount -t overlay -o "lowerdir=/usr,upperdir=/tmp/upper,workdir=/tmp/work$1" overlay /tmp/root
: > /tmp/root/written
test -e /tmp/upper/written`

// tryNamespaces makes the namespaces of a node and ends them.
func tryNamespaces(ctx context.Context) Trial {
	return try(ctx, "mount -t proc proc /proc\ntest -d /proc/1")
}

// tryOverlay mounts a root file system as a node has it.
func tryOverlay(ctx context.Context) Trial { return try(ctx, overlayTrial) }

// isolate keeps a trial's mounts from reaching the machine's own namespace.
const isolate = "set -e\nmount --make-rprivate /\n"

// try runs a script in namespaces of its own; as an ordinary user, in a user
// namespace in which it is root.
func try(ctx context.Context, script string) Trial {
	option := ""
	if os.Geteuid() != 0 {
		option = ",userxattr"
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", isolate+script, "sh", option)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: nodeFlags}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if _, err := finish(ctx, cmd); err != nil {
		return Trial{Said: err.Error()}
	}
	return Trial{Worked: true}
}

// namespaceLimits reads the kernel's settings that forbid namespaces.
func namespaceLimits() map[string]string {
	limits := map[string]string{}
	for _, name := range []string{"user.max_user_namespaces", "user.max_net_namespaces", "user.max_pid_namespaces", "user.max_mnt_namespaces",
		"kernel.unprivileged_userns_clone", "kernel.apparmor_restrict_unprivileged_userns"} {
		if value := strings.TrimSpace(readText("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))); value != "" {
			limits[name] = value
		}
	}
	return limits
}
