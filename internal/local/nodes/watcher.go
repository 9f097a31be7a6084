package nodes

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// watcher tells when init processes end. It waits with Go's poller, which costs no thread for each.
type watcher struct {
	ended chan string
	// lost is called for a node that ended without being asked to, before others
	// hear of it, and for one node at a time.
	lost func(name string)
	turn sync.Mutex // held by the caller of lost
	wait sync.WaitGroup

	mu     sync.Mutex // guards what follows
	nodes  map[*watched]bool
	closed bool
}

type watched struct {
	nodeInit
	file     *os.File // a pidfd
	expected bool
}

func newWatcher(lost func(name string)) *watcher {
	// The channel has room for every node of a large cluster; more would only
	// repeat the same hint.
	return &watcher{lost: lost, ended: make(chan string, 1024), nodes: map[*watched]bool{}}
}

// add watches a node. One that has ended already is reported at once.
func (w *watcher) add(i nodeInit) error {
	fd, err := unix.PidfdOpen(i.pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		w.report(i.name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", i.name, err)
	}
	n := &watched{nodeInit: i, file: os.NewFile(uintptr(fd), "process "+strconv.Itoa(i.pid))}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("watch %s: %w", i.name, errors.Join(os.ErrClosed, n.file.Close()))
	}
	w.nodes[n] = true
	w.wait.Go(func() {
		if n.await() == nil {
			w.gone(n)
		}
	})
	return nil
}

// await waits until the process has ended. It fails if the file is closed before.
func (n *watched) await() error {
	conn, err := n.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		ready, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) // interrupted is not ready: the poller asks again
		return ready > 0
	})
}

// expect says that the end of a process is no news.
func (w *watcher) expect(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range w.nodes {
		n.expected = n.expected || n.pid == pid
	}
}

// gone reports a process that has ended, unless that was expected.
func (w *watcher) gone(n *watched) {
	w.mu.Lock()
	watching, expected := w.nodes[n], n.expected
	delete(w.nodes, n)
	w.mu.Unlock()
	if !watching {
		return // it ended while the watcher was closed
	}
	// Reaps it if it is our child; the anchor reaps those of an earlier controller.
	_ = unix.Waitid(unix.P_PIDFD, int(n.file.Fd()), nil, unix.WEXITED|unix.WNOHANG, nil)
	_ = n.file.Close()
	if expected {
		return
	}
	w.turn.Lock()
	w.lost(n.name)
	w.turn.Unlock()
	w.report(n.name)
}

func (w *watcher) report(name string) {
	select {
	case w.ended <- name:
	default:
	}
}

// close stops watching. What is being cleaned up is finished.
func (w *watcher) close() error {
	w.mu.Lock()
	w.closed = true
	var errs []error
	for n := range w.nodes {
		errs = append(errs, n.file.Close())
		delete(w.nodes, n)
	}
	w.mu.Unlock()
	w.wait.Wait()
	return errors.Join(errs...)
}
