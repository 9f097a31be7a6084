package container

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/thread"
)

// Run makes a container, runs a command in it and takes it away. It returns the
// command's exit code, as a shell has it.
func Run(o Options, args []string) (int, error) {
	m := newMaker(o)
	m.heard = make(chan os.Signal, 16)
	defer signal.Stop(m.heard)
	if err := m.start(); err != nil {
		return 0, err
	}
	code, err := m.run(args)
	if err == nil && o.Save != "" {
		_, err = m.save()
	}
	return code, errors.Join(err, m.finish())
}

func newMaker(o Options) *maker { return &maker{o: o, root: realRoot()} }

// start makes the container, or joins the one that has its name.
func (m *maker) start() error {
	flags := 0
	if m.root {
		flags = unix.CLONE_NEWNS
	}
	m.account = findAccountAhead(m.o.User)
	if err := thread.Do(flags, m.make); err != nil {
		// The processes to be ended, and /proc's files about them, are the user's.
		return errors.Join(err, becomeUser(m.o.User), m.finish())
	}
	return nil
}

// passedOn are the signals that a command gets which this process hears.
func passedOn() []os.Signal {
	return []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGWINCH}
}

// run has the container's process become a command and waits for its end.
func (m *maker) run(args []string) (int, error) {
	set, unset := m.environ()
	if len(args) == 0 {
		args = m.defaultCommand()
	}
	if err := m.newGuard(nil); err != nil {
		return 0, err
	}
	signal.Notify(m.heard, passedOn()...)
	// One that came while the container was being made ends this process as it would have ended the command.
	select {
	case s := <-m.heard:
		if s != unix.SIGWINCH {
			return 128 + int(s.(syscall.Signal)), nil
		}
	default:
	}
	if err := m.exec(args, applied(readEnviron(m.o.Environ), set, unset)); err != nil {
		return 0, err
	}
	return m.await()
}

// login is the environment that the image and a login in it make.
func (m *maker) login() environment {
	outer := readEnviron(m.o.Environ)
	l := login{user: m.survey.host.name, logname: m.survey.host.name, home: m.home(), shell: m.shell(),
		path: loginPath(m.survey.loginDefs, m.o.RemapRoot || m.o.User.UID == 0)}
	if m.o.RemapRoot {
		l.user = "root"
	}
	in := inner(outer, m.config, !m.described, l)
	if m.o.MountHome {
		in["HOME"] = m.home()
	}
	maps.Copy(in, readEnviron(m.deviceEnv))
	addPyTorch(in, outer)
	return in
}

// environ is what changes in the environment of the container's commands.
func (m *maker) environ() (set, unset []string) {
	return changes(readEnviron(m.o.Environ), m.inner, m.o.Keep)
}

func applied(outer environment, set, unset []string) environment {
	for _, name := range unset {
		delete(outer, name)
	}
	for name, value := range readEnviron(set) {
		outer[name] = value
	}
	return outer
}

// defaultCommand is what an image runs when it is not told what.
func (m *maker) defaultCommand() []string {
	switch command := append(append([]string(nil), m.config.Entrypoint...), m.config.Cmd...); {
	case len(command) > 0:
		return command
	case m.survey.hasRC:
		return []string{"/bin/sh", "/etc/rc"}
	}
	return []string{"/bin/sh"}
}

// exec has the remote become a command.
func (m *maker) exec(args []string, env environment) error {
	p := m.r.program()
	files, err := openFileLimit()
	if err == nil {
		limit := p.data(numbers(files.Cur, files.Max))
		p.allow(p.call("limit open files", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, limit, 0))
	}
	tries := p.become(args, env, m)
	results, err := m.r.do(p)
	if errors.Is(err, errGone) {
		return nil // it is the command now
	}
	if err != nil {
		return err
	}
	errno := unix.ENOENT
	for _, t := range tries {
		if e := at(results, t).errno; e != unix.ENOENT && e != unix.ENOTDIR {
			errno = e
		}
	}
	return fmt.Errorf("run %s in the container: %w", args[0], errno)
}

// become adds what turns a process of the container into a command. It returns the
// calls of which one must succeed.
func (p *program) become(args []string, env environment, m *maker) []ref {
	p.call("set umask", unix.SYS_UMASK, uintptr(m.mask))
	p.confine(m.o.RemapRoot)
	p.call("set signal mask", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, p.data(make([]byte, 8)), 0, 8)
	argv, envp := p.texts(args), p.texts(env.list())
	var tries []ref
	for _, path := range candidates(args[0], env["PATH"]) {
		tries = append(tries, p.allow(p.call("run "+args[0], unix.SYS_EXECVE, p.text(path), argv, envp)))
	}
	return tries
}

// candidates are the files that a command may be.
func candidates(name, path string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	var all []string
	for _, d := range filepath.SplitList(path) {
		all = append(all, cmp.Or(d, ".")+"/"+name)
	}
	return all
}

// confine gives up all that a command of the container has no use for: new rights by
// programs, and, unless it is to be root there, rights in the container.
func (p *program) confine(root bool) {
	p.call("rule out new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if code := nativeFilter(); len(code) > 0 {
		// struct sock_fprog: the number, padding, the place.
		program := numbers(uint64(len(code)), uint64(p.data(filterBytes(code))))
		const setFilter, specAllow = 1, 4
		p.call("filter system calls", unix.SYS_SECCOMP, setFilter, specAllow, p.data(program))
	}
	if root {
		return
	}
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		p.allow(p.call("drop a capability", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0))
	}
	p.call("drop capabilities", unix.SYS_CAPSET, p.data(capabilityHeader()), p.data(make([]byte, 24)))
}

// capabilityHeader is for the process's own capabilities, in today's form.
func capabilityHeader() []byte {
	return numbers(unix.LINUX_CAPABILITY_VERSION_3)
}

// openFileLimit is the limit of open files that this process was started with. Go
// raises its own; the parent's is what its children get.
func openFileLimit() (unix.Rlimit, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/limits")
	if err != nil {
		return unix.Rlimit{}, err
	}
	_, line, _ := strings.Cut(string(text), "Max open files")
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return unix.Rlimit{}, errors.New("read limits: no line on open files")
	}
	soft, err1 := strconv.ParseUint(fields[0], 10, 64)
	hard, err2 := strconv.ParseUint(fields[1], 10, 64)
	return unix.Rlimit{Cur: soft, Max: hard}, errors.Join(err1, err2)
}

// await passes signals on to the command until it ends.
func (m *maker) await() (int, error) {
	ended := make(chan error, 1)
	var status unix.WaitStatus
	go func() { ended <- wait(m.r.pid, &status) }()
	broken := m.broken()
	for {
		select {
		case s := <-m.heard:
			if !fromTerminal(s) {
				_ = unix.Kill(m.r.pid, s.(syscall.Signal)) // it may have ended just now
			}
		case <-broken:
			broken = nil
			m.complain()
		case err := <-ended:
			m.reaped = true
			if status.Signaled() {
				return 128 + int(status.Signal()), err
			}
			return status.ExitStatus(), err
		}
	}
}

// fromTerminal tells whether the command has heard a signal already: a terminal sends
// its own to all of the foreground.
func fromTerminal(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGWINCH {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	runtime.KeepAlive(tty)
	return err == nil && group == unix.Getpgrp()
}
