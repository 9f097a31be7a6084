package ras

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Port is where NCCL answers if NCCL_RAS_ADDR says nothing else. Two jobs of one user on a node
// share it, and either may answer: jobs that may share a node get a port of their own.
const Port = 28028

const (
	protocol = 2
	// maxReport is far more than the ranks of any job need.
	maxReport = 64 << 20
	maxLine   = 4096
	// greeting is how long a process that runs takes for a word. NCCL's own client waits as long.
	greeting = time.Second
	// patience is how long NCCL takes longer than it is told to (RAS_COLLECTIVE_EXTRA_TIMEOUT_SEC), and a little.
	patience = 10 * time.Second
)

// ErrTooLong says that an answer is longer than a report can be.
var ErrTooLong = errors.New("NCCL's answer is too long")

// Query asks at an address as NCCL_RAS_ADDR has it, or Port of this machine if it is "". All processes of a node listen there,
// and the system chooses one for each connection: if one does not answer because it is stopped, another is tried.
func Query(ctx context.Context, addr string, wait time.Duration) (Report, error) {
	if addr == "" {
		addr = net.JoinHostPort("localhost", strconv.Itoa(Port))
	}
	const tries = 8
	var err error
	for range tries {
		var r Report
		if r, err = query(ctx, addr, wait); err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			return r, err
		}
	}
	return Report{}, err
}

func query(ctx context.Context, addr string, wait time.Duration) (Report, error) {
	dialer := net.Dialer{Timeout: greeting}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return Report{}, fmt.Errorf("ask NCCL for its ranks: %w", err)
	}
	defer conn.Close()
	return Ask(ctx, conn, wait)
}

// Ask asks the process at the other end for the state of the job, of which it gathers for at most
// wait. The connection is of no use afterwards; the caller closes it.
func Ask(ctx context.Context, conn net.Conn, wait time.Duration) (Report, error) {
	wait = max(wait.Round(time.Second), time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, wait+patience, errors.New("NCCL did not answer in time"))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	text, err := ask(conn, wait)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return Report{}, fmt.Errorf("ask NCCL for its ranks: %w", err)
	}
	return Parse(text)
}

// ask speaks the protocol.
func ask(conn net.Conn, wait time.Duration) ([]byte, error) {
	r := bufio.NewReaderSize(conn, maxLine)
	if err := conn.SetDeadline(time.Now().Add(greeting)); err != nil {
		return nil, err
	}
	answer, err := tell(conn, r, "CLIENT PROTOCOL "+strconv.Itoa(protocol))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(strings.ToUpper(answer), "SERVER PROTOCOL ") {
		return nil, fmt.Errorf("this is not NCCL: %q", answer)
	}
	if answer, err = tell(conn, r, "TIMEOUT "+strconv.Itoa(int(wait/time.Second))); err != nil {
		return nil, err
	}
	if !strings.EqualFold(answer, "OK") {
		return nil, fmt.Errorf("NCCL answers %q", answer)
	}
	if _, err = tell(conn, r, "SET FORMAT json"); err != nil { // before 2.28.7 it says ERROR, and goes on in text
		return nil, err
	}
	if _, err := io.WriteString(conn, "VERBOSE STATUS\n"); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(wait + patience)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxReport+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxReport {
		return nil, ErrTooLong
	}
	return text, nil
}

// tell sends a line and reads the one that answers it.
func tell(conn net.Conn, r *bufio.Reader, line string) (string, error) {
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	answer, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", ErrTooLong
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(answer)), nil
}
