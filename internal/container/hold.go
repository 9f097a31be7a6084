package container

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Life is the connection between the plugin that wants a container and its holder.
type Life struct {
	// Answer gets the answer, and another one when the container was saved.
	Answer io.WriteCloser
	// Step ends when the container is to end. A byte on it before asks for saving.
	Step *os.File
}

// Hold makes a container for others to join and keeps it until life's step is over.
// Then it ends the processes in it and takes it away. It tells whether all went well; the
// error has only problems that neither an answer nor stderr has told the user.
func Hold(o Options, life Life) (well bool, err error) {
	var notices []string
	o.Notice = func(text string) { notices = append(notices, text) }
	// A signal for all of the step's processes reaches us, too; we go last.
	signal.Ignore(calm...)
	h, err := hold(o)
	if err != nil {
		return false, Refuse(life, err)
	}
	// Before the answer: tasks come then, and whoever dies, somebody must end them.
	if err := h.newGuard(life.Step); err != nil {
		return false, errors.Join(Refuse(life, err), h.finish())
	}
	err = answerOK(life.Answer, h.container(), seccompHex(), notices)
	if o.Save == "" {
		err = errors.Join(err, life.Answer.Close())
	}
	// This comes after the answer, so that tasks do not wait for it.
	err = errors.Join(err, h.announce())
	if err != nil {
		return false, errors.Join(err, h.finish())
	}
	well, err = h.wait(life)
	err = errors.Join(err, h.finish())
	return well && err == nil, err
}

// Refuse answers that there will be no container.
func Refuse(life Life, err error) error {
	return errors.Join(answerError(life.Answer, err), life.Answer.Close())
}

// hold makes the container and gives up root's rights.
func hold(o Options) (*maker, error) {
	m := newMaker(o)
	m.alone = true
	if err := m.start(); err != nil {
		return nil, err
	}
	if err := becomeUser(o.User); err != nil {
		return nil, errors.Join(err, m.finish())
	}
	return m, nil
}

// becomeUser gives up root's rights for good.
func becomeUser(u User) error {
	if os.Geteuid() != 0 || u.UID == 0 {
		return nil
	}
	err := unix.Setgroups(u.Groups)
	if err == nil {
		err = unix.Setresgid(u.GID, u.GID, u.GID)
	}
	if err == nil {
		err = unix.Setresuid(u.UID, u.UID, u.UID)
	}
	if err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	return nil
}

// container is what tasks need to know.
func (m *maker) container() Container {
	if m.joined {
		c := Container{PID: m.kept.PID, Namespaces: m.kept.Namespaces, Workdir: m.workdir}
		c.Set, c.Unset = m.environ()
		return c
	}
	c := Container{PID: m.r.pid, Namespaces: []string{"user", "mnt"}, Workdir: m.workdir}
	for _, n := range m.o.Unshare.namespaces() {
		c.Namespaces = append(c.Namespaces, n.name)
	}
	c.Set, c.Unset = m.environ()
	return c
}

// wait returns when the step is over, and saves the container if it is asked to. What
// it returns is as Hold's.
func (m *maker) wait(life Life) (well bool, err error) {
	asked := make(chan bool)
	go func() {
		word := make([]byte, 1)
		for {
			n, err := life.Step.Read(word)
			if n == 1 {
				asked <- true
			}
			if err != nil {
				close(asked)
				return
			}
		}
	}()
	broken := m.broken()
	for {
		select {
		case save := <-asked:
			if !save {
				return true, nil
			}
			if saved, err := m.saveAndTell(life.Answer); !saved || err != nil {
				return false, err
			}
		case <-broken:
			m.complain()
			return false, nil
		}
	}
}

// saveAndTell saves the container once and says what came of it.
func (m *maker) saveAndTell(answer io.WriteCloser) (saved bool, err error) {
	if m.o.Save == "" || m.saved {
		return true, nil
	}
	m.saved = true
	path, err := m.save()
	if err != nil {
		return false, errors.Join(answerError(answer, err), answer.Close())
	}
	return true, errors.Join(writeFields(answer, []string{"saved", path}), answer.Close())
}
