package nodes

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/thread"
)

// doors are where machines of the cluster answer SSH. Nodes have no server that waits:
// each address is listened at from here, and a server is started on the machine for each
// connection. So a node costs a socket, and no time.
type doors struct {
	layout *Layout
	// server is the command line for one connection.
	server   []string
	arrivals arrivals

	mu   sync.Mutex // guards open
	open map[string]net.Listener
}

const sshPort = 22

// mostNew is how many connections from one machine to another may be without a login,
// which is as many as OpenSSH's own limit has (MaxStartups).
const mostNew = 100

// openHead opens the head node's.
func (d *doors) openHead() error {
	line := append([]string{"/usr/bin/nsenter", "--mount=/proc/1/fd/" + strconv.Itoa(headMount), "--wdns=/", "--"}, d.as()...)
	socket, err := net.Listen("tcp4", netip.AddrPortFrom(HeadAddress, sshPort).String())
	if err != nil {
		return fmt.Errorf("listen for SSH on the head node: %w", err)
	}
	d.keep("", socket, append(line, d.server...))
	return nil
}

// openNode opens a node's, which runs with this init process.
func (d *doors) openNode(name string, pid int) error {
	if len(d.server) == 0 {
		return nil
	}
	spaces := "/proc/" + strconv.Itoa(pid) + "/ns/"
	socket, err := listenIn(spaces + "net")
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil // the node has ended
	}
	if err != nil {
		return fmt.Errorf("listen for SSH on %s: %w", name, err)
	}
	line := append([]string{"/usr/bin/nsenter", "--pid=" + spaces + "pid", "--net=" + spaces + "net", "--ipc=" + spaces + "ipc",
		"--uts=" + spaces + "uts", "--mount=" + spaces + "mnt", "--wdns=/", "--"}, d.as()...)
	d.keep(name, socket, append(line, d.server...))
	return nil
}

// as is the start of a command line for a login, on the head node, too: a job may log in
// there, and has no more rights then than where it began.
func (d *doors) as() []string {
	if d.layout.Rootless {
		return d.layout.Become("")
	}
	return []string{"/usr/bin/setpriv", "--bounding-set=" + droppedCapabilities, "--"}
}

// listenIn listens in a network namespace.
func listenIn(namespace string) (socket net.Listener, err error) {
	err = thread.Do(0, func() error {
		fd, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return err
		}
		socket, err = net.Listen("tcp4", ":"+strconv.Itoa(sshPort))
		return err
	})
	return socket, err
}

func (d *doors) keep(name string, socket net.Listener, line []string) {
	d.mu.Lock()
	old := d.open[name]
	d.open[name] = socket
	d.mu.Unlock()
	if old != nil {
		old.Close()
	}
	go func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return // it is closed
			}
			go d.receive(conn, name, line)
		}
	}()
}

// receive serves a connection, unless too many come from there at once.
func (d *doors) receive(conn net.Conn, name string, line []string) {
	from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	left, ok := d.arrivals.admit(arrival{from: from, to: name})
	if !ok {
		conn.Close()
		return
	}
	defer left()
	d.serve(conn, line)
}

// serve has a server take a connection, which it keeps when we end.
func (d *doors) serve(conn net.Conn, line []string) {
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return // the other end is told by the connection's end
	}
	defer file.Close()
	conn.Close()
	log, err := os.OpenFile(d.layout.Path("log", "sshd.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer log.Close()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + systemPath, "LC_ALL=C.UTF-8"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintf(log, "start %s: %v\n", d.server[0], err)
	}
}

// shut closes a machine's.
func (d *doors) shut(name string) {
	d.mu.Lock()
	socket := d.open[name]
	delete(d.open, name)
	d.mu.Unlock()
	if socket != nil {
		socket.Close()
	}
}

func (d *doors) shutAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, socket := range d.open {
		socket.Close()
		delete(d.open, name)
	}
}
