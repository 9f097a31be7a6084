package nodes

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// watcher tells when init processes end, with one thread for all of them.
type watcher struct {
	ended chan string
	// lost is called for a node that ended without being asked to, before others
	// hear of it.
	lost  func(name string)
	epoll int
	wake  int // an eventfd that ends the loop
	done  chan struct{}

	mu    sync.Mutex // guards nodes
	nodes map[int32]watched
}

type watched struct {
	name     string
	pid      int
	expected bool
}

func newWatcher(lost func(name string)) (*watcher, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(epoll)
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &event); err != nil {
		unix.Close(epoll)
		unix.Close(wake)
		return nil, err
	}
	// The channel has room for every node of a large cluster; more would only
	// repeat the same hint.
	w := &watcher{lost: lost, ended: make(chan string, 1024), epoll: epoll, wake: wake, done: make(chan struct{}), nodes: map[int32]watched{}}
	go w.loop()
	return w, nil
}

// add watches a node. One that has ended already is reported at once.
func (w *watcher) add(i nodeInit) error {
	fd, err := unix.PidfdOpen(i.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		w.report(i.name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name, err)
	}
	w.mu.Lock()
	w.nodes[int32(fd)] = watched{name: i.name, pid: i.pid}
	w.mu.Unlock()
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

// expect says that the end of a process is no news.
func (w *watcher) expect(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for fd, n := range w.nodes {
		if n.pid == pid {
			n.expected = true
			w.nodes[fd] = n
		}
	}
}

func (w *watcher) loop() {
	defer close(w.done)
	events := make([]unix.EpollEvent, 16)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			if e.Fd == int32(w.wake) {
				return
			}
			w.gone(e.Fd)
		}
	}
}

func (w *watcher) gone(fd int32) {
	w.mu.Lock()
	n := w.nodes[fd]
	delete(w.nodes, fd)
	w.mu.Unlock()
	unix.Close(int(fd))
	// Reaps it if it is our child; the anchor reaps those of an earlier controller.
	_, _ = unix.Wait4(n.pid, nil, unix.WNOHANG, nil)
	if !n.expected {
		w.lost(n.name)
		w.report(n.name)
	}
}

func (w *watcher) report(name string) {
	select {
	case w.ended <- name:
	default:
	}
}

func (w *watcher) close() error {
	if _, err := unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	<-w.done
	return errors.Join(unix.Close(w.wake), unix.Close(w.epoll))
}
