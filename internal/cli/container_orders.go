//go:build linux

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// orders are what the Slurm plugin knows only when the step's streams are there.
type orders struct {
	// environ is the job's environment, which comes as a file: root's own must not be
	// what a user says.
	environ []string
	// dir is what relative paths are relative to.
	dir    string
	umask  int
	stderr *os.File
}

// readOrders waits for orders: one message with the umask, in octal digits, and the
// directory, and with the environment and the step's standard error as open files.
func readOrders(socket int) (orders, error) {
	word, rights := make([]byte, unix.PathMax+16), make([]byte, unix.CmsgSpace(2*4))
	n, oob, err := receive(socket, word, rights)
	if err != nil {
		return orders{}, fmt.Errorf("wait for orders: %w", err)
	}
	mask, dir, found := strings.Cut(string(word[:n]), " ")
	files, err := openFiles(rights[:oob])
	if err != nil || !found || len(files) != 2 {
		return orders{}, errors.Join(err, errors.New("wait for orders: none came"))
	}
	o := orders{dir: dir, stderr: os.NewFile(uintptr(files[1]), "stderr")}
	bits, err1 := strconv.ParseUint(mask, 8, 9)
	o.umask = int(bits)
	var err2 error
	o.environ, err2 = readEnviron(os.NewFile(uintptr(files[0]), "environment"))
	if err := errors.Join(err1, err2); err != nil {
		return o, errors.Join(fmt.Errorf("read orders: %w", err), o.stderr.Close())
	}
	return o, nil
}

// obey makes the step's standard error and umask this process's.
func (o orders) obey() error {
	defer o.stderr.Close()
	unix.Umask(o.umask)
	if err := unix.Dup3(int(o.stderr.Fd()), unix.Stderr, 0); err != nil {
		return fmt.Errorf("take the step's standard error: %w", err)
	}
	return nil
}

// receive receives one message.
func receive(socket int, word, rights []byte) (n, oob int, err error) {
	for {
		n, oob, _, _, err = unix.Recvmsg(socket, word, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, oob, err
		}
	}
}

// openFiles are the files of a control message.
func openFiles(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}

// readEnviron reads an environment as /proc has it.
func readEnviron(f *os.File) ([]string, error) {
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read the job's environment: %w", err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == 0 }), nil
}
