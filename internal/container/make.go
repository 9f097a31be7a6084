package container

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maker makes one container.
type maker struct {
	o       Options
	r       *remote
	account func() (account, error)
	// guard ends what runs in the container if this process is killed.
	guard *remote
	// root says that this process may do what only the machine's root may.
	root bool
	// alone is for a container whose process becomes no command.
	alone bool
	// heard are signals for the command; nil for a container that has none.
	heard chan os.Signal

	// entry is the directory of a container with a name; fresh says that it was
	// not there, kept is what was known of it, joined that it runs and is used.
	entry  *entryDir
	fresh  bool
	kept   kept
	joined bool
	// under is the directory of a container that runs, of which this is a second one;
	// underFD is it in the remote.
	under   string
	underFD int

	image  *os.File
	config Config
	// described says that the image says itself what it asks for.
	described bool
	lower     string // where the image is mounted, or will be
	mounted   bool   // it is, by this process
	kernel    bool
	fuse      *fuseServer
	base      string
	sources   []source
	upper     int // directory with a named container's files, in the remote
	rootFD    int // the container's root, in the remote
	// saveRoot is the same without the mounts in it; nil if it is not to be saved.
	saveRoot *os.File
	survey   survey
	// inner is the environment that the container brings.
	inner environment
	// deviceEnv are variables that come with devices.
	deviceEnv []string
	mask      int // the umask that commands get
	workdir   string
	space     *space
	reaped    bool // the remote has been waited for
	saved     bool
}

// source is an open source of a mount, in the remote.
type source struct {
	fd        int
	directory bool
	missing   bool // and may be
}

// make goes through all steps. When it fails, what it made goes with the remote
// and the calling thread.
func (m *maker) make() error {
	if m.root {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("detach mounts: %w", err)
		}
	}
	joins, err := m.claim()
	if err != nil {
		return err
	}
	if joins {
		return errors.Join(m.joinRunning(), m.entry.open())
	}
	if m.r, err = newRemote(); err != nil {
		return err
	}
	for _, step := range []func() error{
		m.become, m.openImage, m.mountImage, m.separate, m.prepare, m.serveImage, m.mountRoot, m.look,
		m.mountSystem, m.writeFiles, m.mountDevices, m.mountOthers, m.enter, m.runEntrypoint, m.release,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// become makes the remote the user for good.
func (m *maker) become() error {
	p := m.r.program()
	if m.alone {
		p.call("leave the session", unix.SYS_SETSID)
		p.hush()
	}
	u := m.o.User
	if os.Geteuid() == 0 && u.UID != 0 {
		groups := make([]byte, 0, 4*len(u.Groups))
		for _, g := range u.Groups {
			groups = append(groups, byte(g), byte(g>>8), byte(g>>16), byte(g>>24))
		}
		p.call("take the user's groups", unix.SYS_SETGROUPS, uintptr(len(u.Groups)), p.data(groups))
		p.call("take the user's group", unix.SYS_SETRESGID, uintptr(u.GID), uintptr(u.GID), uintptr(u.GID))
		p.call("become the user", unix.SYS_SETRESUID, uintptr(u.UID), uintptr(u.UID), uintptr(u.UID))
	}
	// Tasks find the namespaces in /proc, which shows them of such processes only.
	p.call("be seen by the user", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
	if m.o.Dir != "" {
		p.call("go to "+m.o.Dir, unix.SYS_CHDIR, p.text(m.o.Dir))
	}
	mask := p.call("set umask", unix.SYS_UMASK, 0o022)
	results, err := m.r.do(p)
	if err != nil {
		return err
	}
	m.mask = at(results, mask).value
	return nil
}

// openImage opens the image with the user's rights and reads what it says.
func (m *maker) openImage() error {
	p := m.r.program()
	p.send(m.r, p.open(m.o.Image, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK))
	if _, err := m.r.do(p); err != nil {
		if errors.Is(err, unix.ENOENT) && m.o.Absent != "" {
			return fmt.Errorf("%w; %s", err, m.o.Absent)
		}
		return err
	}
	sent, err := m.r.receive()
	if err != nil {
		return err
	}
	// The name is for messages.
	fd, err := unix.FcntlInt(sent.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	sent.Close()
	if err != nil {
		return err
	}
	m.image = os.NewFile(uintptr(fd), m.o.Image)
	if info, err := m.image.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is no file", m.o.Image))
	}
	if m.o.Describe != nil {
		if m.config, m.described, err = m.o.Describe(m.image); err != nil {
			return err
		}
	}
	return nil
}

// inside are the user's numbers in the container.
func (m *maker) inside() (uid, gid int) {
	if m.o.RemapRoot {
		return 0, 0
	}
	return m.o.User.UID, m.o.User.GID
}

// separate takes the remote into the container's namespaces.
func (m *maker) separate() error {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	for _, n := range m.o.Unshare.namespaces() {
		flags |= n.flag
	}
	p := m.r.program()
	p.call("make a user namespace", unix.SYS_UNSHARE, uintptr(flags))
	uid, gid := m.inside()
	for _, f := range []struct{ name, content string }{
		{"setgroups", "deny"},
		{"gid_map", fmt.Sprintf("%d %d 1", gid, m.o.User.GID)},
		{"uid_map", fmt.Sprintf("%d %d 1", uid, m.o.User.UID)},
	} {
		fd := p.open("/proc/self/"+f.name, unix.O_WRONLY)
		p.write("write /proc/self/"+f.name, fd, []byte(f.content))
		p.close(fd)
	}
	p.call("be seen by the user", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
	if m.o.Unshare.Net {
		p.raiseLoopback()
	}
	_, err := m.r.do(p)
	if err == nil {
		m.space, err = openSpace(m.r.pid)
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		return withHint(err, "the machine does not let users make user namespaces: see sysctl user.max_user_namespaces, "+
			"kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns")
	}
	return err
}

// prepare opens the sources of mounts while the host's root is still there, and makes room
// for the container's own files.
func (m *maker) prepare() error {
	p := m.r.program()
	type opened struct {
		fd   ref
		stat []byte
	}
	var all []opened
	for _, s := range m.o.Mounts {
		var o opened
		if s.bind() {
			o.fd = p.open(s.Source, unix.O_PATH)
			o.stat = p.stat(o.fd)
			if plan, err := s.plan(); err == nil && plan.mayFail {
				p.allow(o.fd)
			}
		}
		all = append(all, o)
	}
	if m.o.Save != "" {
		dir := filepath.Dir(m.o.Save)
		p.call("save the container: write into "+dir, unix.SYS_FACCESSAT, here, p.text(dir), unix.W_OK)
	}
	hooks := m.enrootHooks(p)
	var upper ref
	if dir := m.ownFiles(); dir != "" {
		upper = p.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	}
	m.lower = cmp.Or(m.lower, m.base+"/lower")
	p.mount("tmpfs", m.base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700,size="+cmp.Or(m.o.UpperSize, "50%"))
	for _, d := range []string{"lower", "upper", "work", "root"} {
		p.mkdir(m.base+"/"+d, 0o755)
	}
	results, err := m.r.do(p)
	if err != nil {
		return m.sourceError(err)
	}
	m.tellOfHooks(hooks, results)
	switch {
	case m.entry != nil:
		m.upper = at(results, upper).value
	case m.under != "":
		m.underFD = at(results, upper).value
	}
	for i, s := range m.o.Mounts {
		var o source
		if s.bind() {
			opened := at(results, all[i].fd)
			o.fd, o.missing = opened.value, opened.errno != 0
			o.directory = statMode(all[i].stat)&unix.S_IFMT == unix.S_IFDIR
		}
		m.sources = append(m.sources, o)
	}
	return nil
}

// ownFiles is the directory of what a container with a name has written.
func (m *maker) ownFiles() string {
	if m.entry != nil {
		return m.entry.dir
	}
	return m.under
}

// sourceError says it in Pyxis's words if a mount's source is missing.
func (m *maker) sourceError(err error) error {
	path, ok := strings.CutPrefix(strings.TrimSuffix(err.Error(), ": "+unix.ENOENT.Error()), "open ")
	if errors.Is(err, unix.ENOENT) && ok {
		return fmt.Errorf("--mounts: source path does not exist: %s", path)
	}
	return err
}

// mountRoot mounts an overlay with a writable layer over the image.
func (m *maker) mountRoot() error {
	over := m.base
	if m.upper != 0 {
		over = fmt.Sprintf("/proc/self/fd/%d", m.upper)
	}
	lower := m.lower
	if m.under != "" {
		lower = fmt.Sprintf("/proc/self/fd/%d/upper:%s", m.underFD, lower)
	}
	p := m.r.program()
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr,xino=off", lower, filepath.Join(over, "upper"), filepath.Join(over, "work"))
	p.mount(m.name(), m.base+"/root", "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
	root := p.open(m.base+"/root", unix.O_PATH|unix.O_DIRECTORY)
	if m.o.Save != "" {
		p.send(m.r, p.clone("keep the root for saving", root, false))
	}
	results, err := m.r.do(p)
	if err != nil {
		return m.served(err)
	}
	m.rootFD = at(results, root).value
	if m.o.Save != "" {
		m.saveRoot, err = m.r.receive()
	}
	return err
}

// name is the source of the root's mount in /proc/PID/mountinfo, by which processes of the
// container are found.
func (m *maker) name() string {
	return "muster-" + m.kept.ID
}
