package container

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// claim looks for the container of the wanted name and says whether to join it. Until
// release it keeps other processes from doing the same.
func (m *maker) claim() (joins bool, err error) {
	if m.o.Name.Name == "" {
		m.kept.ID = rand.Text()
		return false, nil
	}
	if m.entry, err = openEntry(m.o.User, m.o.State, m.o.Name); err != nil {
		return false, err
	}
	if err := m.entry.makeLayers(m.o.User); err != nil {
		return false, err
	}
	var exists bool
	if m.kept, exists, err = m.entry.read(m.o.User); err != nil {
		return false, err
	}
	if !exists {
		m.kept.ID = rand.Text()
	}
	member, err := m.kept.member()
	if err != nil {
		return false, err
	}
	if m.kept.Step && member == 0 {
		exists = false // what a step that was killed has left
		m.kept = kept{ID: rand.Text()}
	}
	action, err := decideName(m.o.Name, exists, member != 0, m.o.Image != "")
	m.fresh = !exists
	switch {
	case err != nil:
		return false, err
	case action == join:
		m.kept.PID = member
		return true, nil
	case action == beside:
		m.notice(fmt.Sprintf("the container %s is running: this is a second one, and what it writes is not kept", m.o.Name.Name))
		m.o.Image, m.under, m.fresh = m.kept.Image, m.entry.dir, false
		err := errors.Join(m.entry.users.Close(), m.entry.open())
		m.entry, m.kept = nil, kept{ID: rand.Text()}
		return false, err
	case action == useAgain:
		m.verbose("reusing the container's file system")
		m.o.Image = m.kept.Image
	}
	return false, nil
}

// release records the container that was made and lets other processes go on.
func (m *maker) release() error {
	if m.entry == nil {
		return nil
	}
	k := m.keep()
	if !m.fresh {
		k.Created = m.kept.Created
	}
	m.fresh = false
	return errors.Join(m.entry.write(m.o.User, k), m.entry.open())
}

// keep is the record of the container for other processes.
func (m *maker) keep() kept {
	c := m.container()
	return kept{ID: m.kept.ID, Image: m.absolute(m.o.Image), Created: time.Now(), PID: c.PID, Space: m.space.name, Namespaces: c.Namespaces,
		Environ: m.inner.list(), Workdir: m.workdir, RemapRoot: m.o.RemapRoot}
}

// announce lets others find a step's container without a name by the step's: JOB.STEP.
// Its entry goes with it. Where there is no place for that, it cannot be found.
func (m *maker) announce() error {
	outer := readEnviron(m.o.Environ)
	job, step := outer["SLURM_JOB_ID"], outer["SLURM_STEP_ID"]
	if m.entry != nil || m.joined || job == "" || step == "" {
		return nil
	}
	n := Name{Name: job + "." + step, Job: m.o.Name.Job}
	if strings.ContainsAny(n.entry(), "/\x00") {
		return nil
	}
	e, err := openEntry(m.o.User, m.o.State, n)
	if err != nil {
		m.verbose(err.Error())
		return nil
	}
	k := m.keep()
	k.Step = true
	m.entry, m.fresh = e, true // so that finish removes it
	return errors.Join(e.write(m.o.User, k), e.open())
}

// joinRunning takes over how to be in a container that runs. With a command to run
// it has a remote enter.
func (m *maker) joinRunning() error {
	k := m.kept
	var err error
	if m.space, err = openSpace(k.PID); err != nil {
		return err
	}
	if member, err := k.member(); err != nil || member == 0 || m.space.name != k.Space {
		return errors.Join(err, errors.New("join the container: it has just ended"))
	}
	m.workdir, m.inner = k.Workdir, readEnviron(k.Environ)
	m.o.RemapRoot = k.RemapRoot
	if m.o.Workdir != "" {
		m.workdir = m.o.Workdir
	}
	if len(m.o.Mounts) > 0 {
		m.notice("ignoring --mounts when attaching to a running container")
	}
	for _, n := range m.o.Unshare.namespaces() {
		if !slices.Contains(k.Namespaces, n.name) {
			return fmt.Errorf("--unshare=%s requested but the container is not in a separate %s namespace", n.name, n.word)
		}
	}
	m.joined = true
	if m.alone {
		return nil
	}
	if m.r, err = newRemote(); err != nil {
		return err
	}
	if err := m.become(); err != nil {
		return err
	}
	p := m.r.program()
	var spaces []ref
	for _, n := range k.Namespaces {
		spaces = append(spaces, p.open("/proc/"+strconv.Itoa(k.PID)+"/ns/"+n, unix.O_RDONLY))
	}
	for i, n := range k.Namespaces {
		p.call("join the container's namespace "+n, unix.SYS_SETNS, spaces[i], 0)
		p.close(spaces[i])
	}
	p.call("couldn't chdir to "+m.workdir, unix.SYS_CHDIR, p.text(m.workdir))
	_, err = m.r.do(p)
	return err
}

// discard removes a named container that did not come to be.
func (m *maker) discard() error {
	if m.entry == nil {
		return nil
	}
	err := errors.Join(m.entry.users.Close(), ignoreClosed(m.entry.gate.Close()))
	if m.fresh {
		err = errors.Join(err, asUser(m.o.User, func() error { return removeTree(m.entry.dir) }))
	}
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
