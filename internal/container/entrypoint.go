package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// runEntrypoint runs the image's entrypoint once. It must end in running the
// command that it is given, which stops: then its environment and its directory are
// those that the container's commands get.
func (m *maker) runEntrypoint() error {
	m.inner = m.login()
	args := m.entrypoint()
	if !m.o.Entrypoint || len(args) == 0 {
		return nil
	}
	env := applied(environment{}, m.inner.list(), nil)
	outer := readEnviron(m.o.Environ)
	for _, name := range m.o.Keep {
		if value, ok := outer[name]; ok {
			env[name] = value
		}
	}
	pid, status, log, err := m.startEntrypoint(append(args, "sh", "-c", "kill -STOP $$ ; exit 0"), env)
	if err != nil {
		return err
	}
	defer log.Close()
	if !status.Stopped() {
		m.showLog(log)
		return withHint(fmt.Errorf("the image's entrypoint ended with code %d before the command came", status.ExitStatus()),
			"if the image has an unusual entrypoint, leave out --entrypoint")
	}
	if m.o.EntrypointLog {
		m.showLog(log)
	}
	return errors.Join(m.takeFrom(pid), m.endEntrypoint(pid))
}

func (m *maker) entrypoint() []string {
	switch {
	case m.described:
		return append([]string(nil), m.config.Entrypoint...)
	case m.survey.hasRC:
		return []string{"/bin/sh", "/etc/rc"}
	}
	return nil
}

// startEntrypoint starts a command in the container and waits until it stops or ends.
func (m *maker) startEntrypoint(args []string, env environment) (pid int, status unix.WaitStatus, log *os.File, err error) {
	p := m.r.program()
	null := p.open(os.DevNull, unix.O_RDWR)
	out := p.call("make log", unix.SYS_MEMFD_CREATE, p.text("entrypoint"), unix.MFD_CLOEXEC)
	child := p.fork("start the entrypoint", func() {
		p.streams(null, out)
		p.become(args, env, m)
	})
	word := p.space(4)
	p.call("wait for the entrypoint", unix.SYS_WAIT4, child, address(word), unix.WUNTRACED, 0)
	p.close(null)
	p.send(m.r, out)
	results, err := m.r.do(p)
	if err != nil {
		return 0, 0, nil, err
	}
	status = waitStatus(word)
	log, err = m.r.receive()
	if pid = at(results, child).value; err == nil && pid <= 0 {
		err = errors.New("start the entrypoint: no process")
	}
	return pid, status, log, err
}

// streams makes files the standard input and both outputs.
func (p *program) streams(in, out ref) {
	p.call("set input", unix.SYS_DUP3, in, 0, 0)
	p.call("set output", unix.SYS_DUP3, out, 1, 0)
	p.call("set output", unix.SYS_DUP3, out, 2, 0)
}

func waitStatus(word []byte) unix.WaitStatus {
	return unix.WaitStatus(binary.NativeEndian.Uint32(word))
}

// takeFrom takes over what the entrypoint has left.
func (m *maker) takeFrom(pid int) error {
	proc := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(proc + "/environ")
	if err != nil {
		return fmt.Errorf("read the entrypoint's environment: %w", err)
	}
	m.inner = readEnviron(strings.Split(string(data), "\x00"))
	for _, name := range []string{"_", "PWD", "OLDPWD", "SHLVL"} {
		delete(m.inner, name)
	}
	if m.o.Workdir != "" {
		return nil
	}
	m.workdir, err = os.Readlink(proc + "/cwd")
	return err
}

func (m *maker) endEntrypoint(pid int) error {
	p := m.r.program()
	p.call("end the entrypoint", unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGKILL))
	p.call("wait for the entrypoint", unix.SYS_WAIT4, uintptr(pid), 0, 0, 0)
	p.call("go to the working directory", unix.SYS_CHDIR, p.text(m.workdir))
	_, err := m.r.do(p)
	return err
}

func (m *maker) showLog(log *os.File) {
	for line := range strings.Lines(readLog(log)) {
		m.notice(strings.TrimRight(line, "\n"))
	}
}

// fork adds the making of a process that goes on with the calls that child adds, and
// then ends.
func (p *program) fork(what string, child func()) ref {
	pid := p.call(what, unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0)
	before := len(p.what)
	child()
	p.call("end", unix.SYS_EXIT_GROUP, 127)
	p.page.calls[pid&refMask].skip = uintptr(len(p.what) - before)
	return pid
}
