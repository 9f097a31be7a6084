package trainlog

import (
	"bytes"
	"path"
	"strings"
)

// interpreter reads what Python says before it runs a program, which has no traceback: "/usr/bin/python3: No module named
// torch" of Lib/runpy.py, "python3: can't open file 'train.py': [Errno 2] No such file or directory" of Modules/main.c.
func interpreter(text []byte, s *Sign) bool {
	who, said, ok := bytes.Cut(bytes.TrimSpace(text), []byte(": "))
	name := path.Base(string(who))
	if !ok || !strings.HasPrefix(name, "python") && !strings.HasPrefix(name, "pypy") {
		return false
	}
	s.Kind = Exception
	switch {
	case bytes.HasPrefix(said, []byte("No module named ")):
		s.Name = "ModuleNotFoundError"
	case bytes.HasPrefix(said, []byte("Error while finding module specification for ")):
		inner, _ := between(said, " (", "")
		_, s.Name, ok = exception([]byte(inner))
		return ok
	case bytes.HasPrefix(said, []byte("can't find '__main__' module in ")), bytes.Contains(said, []byte(": [Errno 2] ")):
		s.Name = "FileNotFoundError"
	case bytes.Contains(said, []byte(": [Errno 13] ")):
		s.Name = "PermissionError"
	case bytes.HasPrefix(said, []byte("can't open file ")):
		s.Name = "OSError"
	default:
		return false
	}
	return true
}

// shellWords are what bash says of a program that it could not run, with the exit code that it gives then. What it cannot
// read from is told in the same words, and fails with 1.
var shellWords = []struct {
	word string
	code int
}{
	{": command not found", 127},
	{": No such file or directory", 127},
	{": cannot execute: required file not found", 127},
	{": Permission denied", 126},
}

// shell reads bash's "train.sh: line 3: foo: command not found", and what the C library's loader says of a program that it cannot start
// (glibc elf/dl-version.c): "python: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by python)".
func shell(text []byte, s *Sign) bool {
	text = bytes.TrimSpace(text)
	if _, rest, ok := bytes.Cut(text, []byte(": version `GLIBC")); ok && bytes.Contains(rest, []byte("' not found (required by ")) {
		s.Kind, s.ExitCode = NotRun, 1
		return true
	}
	_, rest, ok := bytes.Cut(text, []byte(": line "))
	if !ok {
		return false
	}
	_, end := digits(rest, 0)
	what, ok := bytes.CutPrefix(rest[end:], []byte(": "))
	if end == 0 || !ok {
		return false
	}
	for _, w := range shellWords {
		program, ok := bytes.CutSuffix(what, []byte(w.word))
		if ok && !bytes.Contains(program, []byte(": ")) { // that is a builtin's: "cd: /x: No such file or directory"
			s.Kind, s.ExitCode = NotRun, w.code
			return true
		}
	}
	return false
}
