package container

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A remote is a copy of this process that does nothing but make the system calls
// that it is asked for. A Go program has many threads, and the kernel lets only a
// process of one thread leave its user namespace; a remote has one, and unlike a
// program that is started for it, it is there after a fraction of a millisecond.
//
// It is asked for programs: lists of calls, which it goes through without a word
// in between. Calls and what they point to lie in memory that both share. It
// ends when this process does, however that ends.
type remote struct {
	pid  int
	page *page
	sock int // our end of the socket, over which it is asked
	fd   int // its end, in the remote
	// sent are files that it has sent and receive has not returned yet.
	sent []*os.File
}

// page is the memory that a remote shares with this process.
type page struct {
	all   []byte
	calls []call
	arena []byte
	head  *header
	used  int
}

// header says which calls are to be made and where the remote stopped.
type header struct {
	count, at uintptr
	// will is the first of the calls that the remote makes, up to count, when this
	// process has ended; 0 if there are none.
	will uintptr
	word [8]byte
}

// call is a system call. An argument from refBase on stands for the result of
// an earlier call of the same program.
type call struct {
	nr     uintptr
	args   [6]uintptr
	result uintptr
	errno  uintptr
	// mayFail: go on after an error, too.
	mayFail uintptr
	// skip is, for a call that makes a process, how many of the following calls
	// are the new process's business alone.
	skip uintptr
}

const (
	maxCalls  = 2048
	pageBytes = 4 << 20
	refBase   = uintptr(1) << 62
	refMask   = refBase - 1
	callBytes = unsafe.Sizeof(call{})
)

func newPage() (*page, error) {
	all, err := unix.Mmap(-1, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("share memory: %w", err)
	}
	p := &page{all: all}
	p.head = (*header)(unsafe.Pointer(&all[0]))
	rest := all[unsafe.Sizeof(header{}):]
	p.calls = unsafe.Slice((*call)(unsafe.Pointer(&rest[0])), maxCalls)
	p.arena = rest[maxCalls*callBytes:]
	return p, nil
}

// newRemote makes a remote in the namespaces of the calling goroutine's thread,
// which must be locked to it. It has none of this process's files but the standard
// streams: a pipe that it kept open would never end for others.
func newRemote() (*remote, error) { return newRemoteWith(nil) }

// newRemoteWith is newRemote for one that also keeps a file, unless that is nil.
func newRemoteWith(file *os.File) (*remote, error) {
	p, err := newPage()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return nil, err
	}
	keep := uintptr(pair[1])
	if file != nil {
		keep = file.Fd()
	}
	pid, errno := fork(uintptr(pair[1]), keep, p.head, p.calls)
	runtime.KeepAlive(file)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
		return nil, err
	}
	unix.Close(pair[1])
	r := &remote{pid: int(pid), page: p, fd: pair[1], sock: pair[0]}
	if errno != 0 {
		return nil, errors.Join(fmt.Errorf("fork: %w", errno), r.close())
	}
	return r, nil
}

// close lets the remote end. The caller reaps it.
func (r *remote) close() error {
	for _, f := range r.sent {
		f.Close()
	}
	return errors.Join(unix.Close(r.sock), unix.Munmap(r.page.all))
}

// do has a program made and returns the results of its calls. It stops at the
// first call that fails and may not.
func (r *remote) do(p *program) ([]result, error) {
	if p.full {
		return nil, errors.New("too many system calls at once")
	}
	if len(p.what) == 0 {
		return nil, nil
	}
	r.page.head.count = uintptr(len(p.what))
	if err := unix.Send(r.sock, []byte{'x'}, unix.MSG_NOSIGNAL); err != nil {
		return nil, fmt.Errorf("ask the container's process: %w", err)
	}
	if err := r.await(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.what[min(int(r.page.head.at), len(p.what)-1)], err)
	}
	results := make([]result, len(p.what))
	for i := range results {
		c := &r.page.calls[i]
		results[i] = result{value: int(c.result), errno: unix.Errno(c.errno)}
	}
	at := int(r.page.head.at)
	if at < len(p.what) {
		return results, &callError{what: p.what[at], index: at, errno: results[at].errno}
	}
	return results, nil
}

// errGone says that a remote has ended, or has become another program.
var errGone = errors.New("the container's process has ended")

// await returns when the program is done. Files that come before are kept.
func (r *remote) await() error {
	var word [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	for {
		n, oob, _, _, err := unix.Recvmsg(r.sock, word[:], rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return errGone
		case oob == 0:
			return nil
		default:
			if err := r.take(rights[:oob]); err != nil {
				return err
			}
		}
	}
}

// take keeps the files of a control message.
func (r *remote) take(rights []byte) error {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return err
		}
		for _, fd := range fds {
			r.sent = append(r.sent, os.NewFile(uintptr(fd), "sent"))
		}
	}
	return nil
}

// receive returns the next file that the remote has sent.
func (r *remote) receive() (*os.File, error) {
	if len(r.sent) == 0 {
		return nil, errors.New("the container's process has sent no file")
	}
	f := r.sent[0]
	r.sent = r.sent[1:]
	return f, nil
}

// result is what came of a call.
type result struct {
	value int
	errno unix.Errno
}

// callError is a call that failed.
type callError struct {
	what  string
	index int
	errno unix.Errno
}

func (e *callError) Error() string { return e.what + ": " + e.errno.Error() }
func (e *callError) Unwrap() error { return e.errno }

// end lets the remote end and waits for it.
func (r *remote) end() error { return errors.Join(r.close(), reap(r.pid)) }

// reap waits for the end of a child.
func reap(pid int) error { return wait(pid, nil) }

func wait(pid int, status *unix.WaitStatus) error {
	for {
		_, err := unix.Wait4(pid, status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
