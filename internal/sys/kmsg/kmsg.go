// Package kmsg reads the kernel's log in /dev/kmsg as it is now: it waits for nothing, and keeps one record at a time.
//
// The format is that of Linux's Documentation/ABI/testing/dev-kmsg. Records come one by one, so that what a user gets
// printed begins no record of its own: line breaks in it are escaped.
package kmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// Path is where the kernel's log is.
const Path = "/dev/kmsg"

// Record is a record of the kernel's log.
type Record struct {
	// Facility is who writes, as in syslog(3): the kernel itself alone has Kernel.
	Facility int
	Sequence uint64
	// Fragment says that it goes on with another record's line, so that its beginning is none.
	Fragment bool
	// Text has all but printable characters of ASCII escaped, as in \x0a.
	Text string
}

// Kernel is the facility of the kernel's own records. What root writes into /dev/kmsg gets another one.
const Kernel = 0

// Parse reads a record as one read of /dev/kmsg returns it: "6,339,5140900,-;text", with further fields before the
// semicolon and lines behind the text that a later kernel may have.
func Parse(data []byte) (Record, error) {
	head, rest, ok := bytes.Cut(data, []byte(";"))
	fields := strings.Split(string(head), ",")
	const least = 4
	if !ok || len(fields) < least {
		return Record{}, fmt.Errorf("%q is no record of the kernel's log", clip(data))
	}
	priority, err := strconv.ParseUint(fields[0], 10, 16)
	sequence, wrong := strconv.ParseUint(fields[1], 10, 64)
	if err := errors.Join(err, wrong); err != nil {
		return Record{}, fmt.Errorf("%q is no record of the kernel's log: %w", clip(data), err)
	}
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	const levels = 8
	return Record{Facility: int(priority / levels), Sequence: sequence, Fragment: fields[3] != "-", Text: printable(text)}, nil
}

// printable is the text with what the kernel escapes escaped, whoever wrote it.
func printable(text []byte) string {
	var b strings.Builder
	for _, c := range text {
		if c < ' ' || c > '~' {
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func clip(data []byte) []byte {
	const most = 80
	return data[:min(len(data), most)]
}

// Look is what one look at the log found.
type Look struct {
	// First and Last are the sequence numbers of the oldest and the newest record, if there is Any.
	First, Last uint64
	Any         bool
	// Unread are records that could not be read: they were overwritten meanwhile, too long, or in another format.
	Unread int
}

// Each calls see with each record that the log has now, oldest first. It ends early where ctx does, with an error.
func Each(ctx context.Context, path string, see func(Record)) (Look, error) {
	var l Look
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return l, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = syscall.Close(fd) }() // it was only read
	const longest = 8 << 10                  // what Linux prints at the most: CONSOLE_EXT_LOG_MAX in its printk.h
	buffer := make([]byte, longest)
	for ctx.Err() == nil {
		n, err := syscall.Read(fd, buffer)
		switch {
		case errors.Is(err, syscall.EAGAIN), err == nil && n == 0:
			return l, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.EINVAL):
			l.Unread++ // the next read is of a record behind it
		case err != nil:
			return l, fmt.Errorf("read %s: %w", path, err)
		default:
			l.take(buffer[:n], see)
		}
	}
	return l, fmt.Errorf("read %s: %w", path, context.Cause(ctx))
}

func (l *Look) take(data []byte, see func(Record)) {
	r, err := Parse(data)
	if err != nil {
		l.Unread++
		return
	}
	if !l.Any {
		l.First, l.Any = r.Sequence, true
	}
	l.Last = r.Sequence
	see(r)
}
