package container

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// shown is something to be mounted in the container.
type shown struct {
	// what names it in an error.
	what string
	// source is a path outside; sourceFD is one that is open in the remote.
	source   string
	sourceFD int
	// kind is the type of a new file system, with options.
	kind    string
	options []string
	target  string
	// create is "dir", "file" or "" for not at all.
	create string
	plan   mountPlan
	// itself shows a directory of the container's root over itself.
	itself bool
}

// show adds the calls that mount s below root.
func (p *program) show(root ref, s shown) {
	var target ref
	switch s.create {
	case "dir":
		target = p.makeDir(root, s.target, 0o755)
	case "file":
		target = p.makeFile(root, s.target)
	default:
		target = p.openIn(root, s.target, unix.O_PATH, 0)
	}
	var mount ref
	switch {
	case s.kind != "":
		mount = p.create(s.kind, s.kind, s.options...)
	case s.itself:
		mount = p.clone(s.what, target, false)
	case s.source != "":
		from := p.open(s.source, unix.O_PATH)
		mount = p.clone(s.what, from, s.plan.recursive)
		p.close(from)
	default:
		mount = p.clone(s.what, ref(s.sourceFD), s.plan.recursive)
	}
	if s.plan.set != 0 {
		p.change(s.what, mount, s.plan.set, 0, s.plan.recursive)
	}
	if s.plan.propagation != 0 {
		p.change(s.what, mount, 0, s.plan.propagation, s.plan.propagates)
	}
	p.attach(s.what, mount, target)
	p.close(mount)
	p.close(target)
}

// showAll mounts a list in order. A target behind a link that leads to nothing is
// made where the link leads.
func (m *maker) showAll(list []shown) error {
	tried := map[int]bool{}
	for from := 0; from < len(list); {
		p := m.r.program()
		var ends []int
		for _, s := range list[from:] {
			p.show(ref(m.rootFD), s)
			ends = append(ends, len(p.what))
		}
		_, err := m.r.do(p)
		if err == nil {
			return nil
		}
		var failed *callError
		if !errors.As(err, &failed) {
			return err
		}
		for i := 0; ends[i] <= failed.index; i++ {
			from++
		}
		s := &list[from]
		switch {
		case !tried[from] && s.create != "" && errors.Is(err, unix.ENOENT):
			tried[from] = true
			if s.target, err = m.r.resolve(m.rootFD, s.target); err != nil {
				return err
			}
		case s.plan.mayFail:
			if !s.plan.silent {
				m.notice(err.Error())
			}
			from++
		default:
			return full(err)
		}
	}
	return nil
}

// mountSystem shows what every program expects of the host.
func (m *maker) mountSystem() error {
	list := systemMounts(m.o.Unshare)
	if !m.o.Writable {
		for _, v := range m.config.Volumes {
			list = append(list, shown{what: "make volume " + v, target: v, create: "dir", itself: true})
		}
	}
	return m.showAll(list)
}

// mountOthers mounts what the user asks for, in order: one mount may be the place
// of the next.
func (m *maker) mountOthers() error {
	for i, o := range m.o.Mounts {
		plan, err := o.plan()
		if err != nil {
			return err
		}
		if m.sources[i].missing {
			if !plan.silent {
				m.notice("--mounts: there is no " + o.Source)
			}
			continue
		}
		if o.Source == "umount" {
			if err := m.unmount(o.Target, plan); err != nil {
				return err
			}
			continue
		}
		s := shown{what: fmt.Sprintf("mount %s at %s", o.Source, o.Target), target: o.Target, create: plan.create, plan: plan}
		if o.Source == "tmpfs" {
			s.kind, s.options = "tmpfs", plan.options
		} else {
			s.sourceFD = m.sources[i].fd
		}
		if s.create == "auto" {
			s.create = likeSource(m.sources[i].directory)
		}
		err = m.showAll([]shown{s})
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTDIR) {
			return fmt.Errorf("--mounts: %s: one is a file and the other a directory (%w)", s.what, err)
		}
		if err != nil {
			return fmt.Errorf("--mounts: %w", err)
		}
	}
	return nil
}

func (m *maker) unmount(target string, plan mountPlan) error {
	// The path of an open file leads to the topmost mount there.
	const known = 902
	p := m.r.program()
	f := p.openIn(ref(m.rootFD), target, unix.O_PATH, 0)
	p.call("keep "+target, unix.SYS_DUP3, f, known, unix.O_CLOEXEC)
	p.call("unmount "+target, unix.SYS_UMOUNT2, p.text(fmt.Sprintf("/proc/self/fd/%d", known)), unix.MNT_DETACH)
	p.close(known)
	p.close(f)
	_, err := m.r.do(p)
	if err != nil && plan.mayFail {
		return nil
	}
	return err
}

const (
	nosuid = unix.MOUNT_ATTR_NOSUID
	nodev  = unix.MOUNT_ATTR_NODEV
	noexec = unix.MOUNT_ATTR_NOEXEC
	ro     = unix.MOUNT_ATTR_RDONLY
)

// systemMounts is Enroot's list, but that /tmp is for all as everywhere.
func systemMounts(own Unshare) []shown {
	list := []shown{
		{what: "show /proc", source: "/proc", target: "/proc", create: "dir", plan: mountPlan{recursive: true, set: nosuid | nodev | noexec}},
		{what: "show /sys", source: "/sys", target: "/sys", create: "dir", plan: mountPlan{recursive: true, set: ro | nosuid | nodev | noexec}},
		{what: "show /dev", source: "/dev", target: "/dev", create: "dir", plan: mountPlan{recursive: true, set: nosuid | noexec}},
		{what: "make /tmp", kind: "tmpfs", options: []string{"mode=1777"}, target: "/tmp", create: "dir"},
		{what: "make /var/run", kind: "tmpfs", options: []string{"mode=755"}, target: "/var/run", create: "dir"},
		{what: "make /var/lock", kind: "tmpfs", options: []string{"mode=755"}, target: "/var/lock", create: "dir"},
	}
	if own.Net {
		list = append(list, shown{what: "make /sys", kind: "sysfs", target: "/sys",
			plan: mountPlan{set: ro | nosuid | nodev | noexec, mayFail: true, silent: true}})
	}
	if own.IPC {
		list = append(list,
			shown{what: "make /dev/shm", kind: "tmpfs", options: []string{"mode=1777"}, target: "/dev/shm", plan: mountPlan{set: noexec}},
			shown{what: "make /dev/mqueue", kind: "mqueue", target: "/dev/mqueue", plan: mountPlan{set: noexec, mayFail: true, silent: true}},
		)
	}
	for _, path := range []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/machine-id"} {
		// Not every machine has all of them.
		list = append(list, hostFile(path, "file"))
	}
	return append(list, awsMounts()...)
}

// hostFile shows a file or directory of the host at its own path, if it can.
func hostFile(path, create string) shown {
	return shown{what: "show " + path, source: path, target: path, create: create,
		plan: mountPlan{set: ro | nosuid | nodev | noexec, propagation: unix.MS_PRIVATE, mayFail: true, silent: true}}
}

// likeSource is the kind of mount point to create for a source.
func likeSource(directory bool) string {
	if directory {
		return "dir"
	}
	return "file"
}

// awsMounts show what leads clients of S3 to a local cluster's own: a job's environment names
// these files (AWS_CONFIG_FILE), and comes along into containers. Other clusters have none.
func awsMounts() []shown {
	var list []shown
	for _, path := range []string{"/etc/muster-aws", "/etc/muster-aws-credentials"} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		list = append(list, hostFile(path, likeSource(info.IsDir())))
	}
	return list
}
