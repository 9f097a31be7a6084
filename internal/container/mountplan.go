package container

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// mountPlan is what a mount's flags come to.
type mountPlan struct {
	// create is the kind of target that is made where it is missing: "dir", "file", "auto"
	// for the source's kind, or "" for none.
	create    string
	recursive bool
	// set are attributes of mount_setattr(2).
	set uint64
	// propagation is one of unix.MS_PRIVATE, ...; 0 leaves it.
	propagation uint64
	propagates  bool // to all mounts below
	// options are the file system's own.
	options []string
	mayFail bool
	silent  bool
}

// attributes are the flags that set one, opposites those that would clear it. Attributes
// of the host's mount stay: a container may not allow what the host forbids.
var attributes = map[string]uint64{
	"ro": unix.MOUNT_ATTR_RDONLY, "nosuid": unix.MOUNT_ATTR_NOSUID, "nodev": unix.MOUNT_ATTR_NODEV,
	"noexec": unix.MOUNT_ATTR_NOEXEC, "noatime": unix.MOUNT_ATTR_NOATIME, "nodiratime": unix.MOUNT_ATTR_NODIRATIME,
}

var opposites = map[string]uint64{
	"rw": unix.MOUNT_ATTR_RDONLY, "suid": unix.MOUNT_ATTR_NOSUID, "dev": unix.MOUNT_ATTR_NODEV,
	"exec": unix.MOUNT_ATTR_NOEXEC, "atime": unix.MOUNT_ATTR_NOATIME, "diratime": unix.MOUNT_ATTR_NODIRATIME,
}

var propagations = map[string]uint64{
	"private": unix.MS_PRIVATE, "slave": unix.MS_SLAVE, "shared": unix.MS_SHARED, "unbindable": unix.MS_UNBINDABLE,
}

// plan reads the flags, behind those that every mount of its kind has. Of two that
// contradict each other the last counts.
func (m Mount) plan() (mountPlan, error) {
	p := mountPlan{set: unix.MOUNT_ATTR_NOSUID}
	switch m.Source {
	case "tmpfs":
		p.create = "dir"
	case "umount":
	default:
		p.create, p.recursive = "auto", true
	}
	for _, f := range m.Flags {
		if err := p.flag(f, m.Source == "tmpfs"); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *mountPlan) flag(f string, hasOptions bool) error {
	if set, ok := attributes[f]; ok {
		p.set |= set
		return nil
	}
	if clear, ok := opposites[f]; ok {
		if clear != unix.MOUNT_ATTR_NOSUID {
			p.set &^= clear
		}
		return nil
	}
	if kind, ok := propagations[strings.TrimPrefix(f, "r")]; ok {
		p.propagation, p.propagates = kind, strings.HasPrefix(f, "r")
		return nil
	}
	switch f {
	case "bind", "rbind", "relatime", "strictatime", "defaults", "loud", "async", "norelatime", "x-detach":
		// The default, or without effect here.
	case "silent":
		p.silent = true
	case "nofail":
		p.mayFail = true
	case "x-create=dir", "x-create=file", "x-create=auto":
		p.create = strings.TrimPrefix(f, "x-create=")
	default:
		if !hasOptions {
			return fmt.Errorf("unknown mount flag %q", f)
		}
		p.options = append(p.options, f)
	}
	return nil
}
