package trainlog

import (
	"bytes"
	"strings"
)

// workerFailed reads "failed (exitcode: -9) local_rank: 3 (pid: 123) of binary: /usr/bin/python".
func workerFailed(text []byte, s *Sign) bool {
	_, rest, ok := bytes.Cut(text, []byte("failed (exitcode: "))
	if !ok {
		return false
	}
	s.Kind = WorkerFailed
	s.setExit(rest)
	if at := bytes.Index(rest, []byte("local_rank: ")); at >= 0 {
		if n, end := digits(rest, at+len("local_rank: ")); end > at+len("local_rank: ") {
			s.LocalRank = n
		}
	}
	return true
}

// setExit reads an exit code as Python has it: negative for a signal.
func (s *Sign) setExit(text []byte) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n, end := digits(text, 0)
	if end > 9 {
		return
	}
	if negative {
		s.Signal = n
	} else {
		s.ExitCode = n
	}
}

// tableLine reads a line of the table of failed workers, and tells whether it was the last.
func (r *Reader) tableLine(b *block, u unit, line []byte) bool {
	text := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(text, []byte("Root Cause (")):
		b.root = true
	case len(text) > 3 && text[0] == '[' && isDigit(text[1]) && bytes.HasSuffix(text, []byte("]:")):
		b.begun = true
		b.entry = Sign{Kind: ChildFailed, Rank: NoRank, Task: u.origin.task, LocalRank: NoRank, Root: b.root}
	case b.root && !b.begun && bytes.HasPrefix(text, []byte("=====")):
		return true
	case b.begun:
		key, value, ok := bytes.Cut(text, []byte(":"))
		if ok && b.entry.set(strings.TrimSpace(string(key[:min(len(key), 20)])), bytes.TrimSpace(value)) {
			b.begun = false
			r.sign(u, b.entry)
		}
	}
	return false
}

// set takes a row of an entry, and tells whether it was the last.
func (s *Sign) set(key string, value []byte) bool {
	switch key {
	case "time":
		s.Time = stamp(value)
	case "host":
		s.Node = clip(value)
	case "rank":
		if n, end := digits(value, 0); end > 0 && end < 9 {
			s.Rank = n
		}
		if bytes.Contains(value, []byte("local_rank: ")) {
			s.LocalRank = countAfter(value, "local_rank: ")
		}
	case "exitcode":
		s.setExit(value)
		s.Text = "exitcode: " + clip(value)
	case "error_file":
		if s.File = clip(value); s.File == "<N/A>" {
			s.File = ""
		}
	case "traceback":
		if bytes.HasPrefix(value, []byte("Signal ")) {
			s.Text = clip(value)
		}
		return true
	}
	return false
}
