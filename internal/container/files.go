package container

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// shell is the user's shell in the container.
func (m *maker) shell() string {
	if m.survey.hasShell {
		return m.survey.host.shell
	}
	return "/bin/sh"
}

// home is the user's home directory in the container.
func (m *maker) home() string {
	if m.o.RemapRoot {
		return "/root"
	}
	if home := readEnviron(m.o.Environ)["HOME"]; m.o.MountHome && home != "" {
		return home
	}
	return m.survey.host.home
}

// writeFiles makes the user known in the container, and what else there must be.
func (m *maker) writeFiles() error {
	p := m.r.program()
	root, host := ref(m.rootFD), m.survey.host
	// Images that expect to be changed have links that lead to nothing.
	etc := p.makeDir(root, "/etc", 0o755)
	for name, text := range map[string][]byte{"passwd": m.survey.passwd, "group": m.survey.group} {
		if text == nil {
			p.allow(p.call("remove /etc/"+name, unix.SYS_UNLINKAT, etc, p.text(name), 0))
		}
	}
	p.close(etc)
	p.putFile(root, "/etc/passwd", passwdFile(m.survey.passwd, m.o.User, host, m.shell()))
	p.putFile(root, "/etc/group", groupFile(m.survey.group, m.o.User, host))
	if m.o.RemapRoot && m.survey.debian {
		p.putFile(root, "/etc/apt/apt.conf.d/muster", []byte("APT::Sandbox::User \"root\";\n"))
	}
	m.putLocaltime(p)
	if !m.survey.hasHome && !m.o.MountHome {
		p.makeDir(root, host.home, 0o700)
	}
	if _, err := m.r.do(p); err != nil {
		return full(fmt.Errorf("make the user known in the container: %w", err))
	}
	if err := m.makeWorkdir(); err != nil {
		return err
	}
	return m.mountHome()
}

// makeWorkdir makes the image's own working directory where it is missing, and
// leaves it where it cannot be made.
func (m *maker) makeWorkdir() error {
	if m.config.Workdir == "" || m.o.Workdir != "" {
		return nil
	}
	p := m.r.program()
	f := p.makeDir(ref(m.rootFD), m.config.Workdir, 0o755)
	p.close(p.allow(f))
	if _, err := m.r.do(p); err != nil {
		m.verbose(err.Error())
	}
	return nil
}

// putLocaltime gives the container the host's time zone, where the host has one that
// is a link, as is usual.
func (m *maker) putLocaltime(p *program) {
	link, err := os.Readlink("/etc/localtime")
	if err != nil {
		return
	}
	zone, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil {
		return
	}
	rules, err := os.ReadFile(zone)
	if err != nil || len(rules) > maxFile {
		return
	}
	root := ref(m.rootFD)
	etc := p.makeDir(root, "/etc", 0o755)
	p.allow(p.call("replace /etc/localtime", unix.SYS_UNLINKAT, etc, p.text("localtime"), 0))
	p.allow(p.call("link /etc/localtime", unix.SYS_SYMLINKAT, p.text(link), etc, p.text("localtime")))
	p.close(etc)
	dir := p.allow(p.makeDir(root, path.Dir(zone), 0o755))
	f := p.allow(p.call("write "+zone, unix.SYS_OPENAT, dir, p.text(path.Base(zone)), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644))
	p.allow(p.write("write "+zone, f, rules))
	p.close(f)
	p.close(dir)
}

// mountHome shows the home directory and PMIx's directory, if there is a step of that.
func (m *maker) mountHome() error {
	var list []shown
	outer := readEnviron(m.o.Environ)
	if m.o.MountHome {
		from := cmp.Or(outer["HOME"], m.survey.host.home)
		list = append(list, shown{what: "show " + from, source: from, target: m.home(), create: "dir",
			plan: mountPlan{recursive: true, set: nosuid}})
	}
	if dir := outer["PMIX_SERVER_TMPDIR"]; dir != "" && outer["SLURM_STEP_ID"] != "" {
		list = append(list, shown{what: "show " + dir, source: dir, target: dir, create: "dir",
			plan: mountPlan{recursive: true, set: nosuid | nodev | noexec, mayFail: true}})
	}
	return m.showAll(list)
}

// enter makes the container's root the remote's, read-only unless it is to be
// writable, lets go of the host's, and goes to the working directory. Mounts in
// the root stay as they are.
func (m *maker) enter() error {
	p := m.r.program()
	if !m.o.Writable {
		p.change("make the root read-only", ref(m.rootFD), ro, 0, false)
	}
	p.call("go to the root", unix.SYS_FCHDIR, ref(m.rootFD))
	p.call("change the root", unix.SYS_PIVOT_ROOT, p.text("."), p.text("."))
	p.call("leave the host's root", unix.SYS_UMOUNT2, p.text("."), unix.MNT_DETACH)
	p.call("go to the root", unix.SYS_CHDIR, p.text("/"))
	p.call("close files", unix.SYS_CLOSE_RANGE, 3, uintptr(m.r.fd-1), 0)
	p.call("close files", unix.SYS_CLOSE_RANGE, uintptr(m.r.fd+1), ^uintptr(0), 0)
	if dir := cmp.Or(m.o.Workdir, m.config.Workdir); dir != "" {
		change := p.call("couldn't chdir to "+dir, unix.SYS_CHDIR, p.text(dir))
		if m.o.Workdir == "" {
			p.allow(change)
		}
	}
	buf := p.space(unix.PathMax)
	n := p.call("find the working directory", unix.SYS_GETCWD, address(buf), unix.PathMax)
	results, err := m.r.do(p)
	if err != nil {
		return err
	}
	m.workdir = string(buf[:at(results, n).value-1])
	return nil
}
