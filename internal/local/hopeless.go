package local

import (
	"io"
	"os"
	"strings"
)

// serviceLog is a service's log from some moment on.
type serviceLog struct {
	path  string
	begin int64
}

func (u *up) logFrom(service string) serviceLog {
	l := serviceLog{path: u.layout.Path("log", service+".log")}
	if info, err := os.Stat(l.path); err == nil {
		l.begin = info.Size()
	}
	return l
}

// hopelessError says why slurmctld ends whenever it is started.
type hopelessError string

func (e hopelessError) Error() string { return "slurmctld does not start: " + string(e) }

// hopeless is an error when slurmctld ended twice since then in the same fatal way:
// the first time it may have missed something that came later.
func (l serviceLog) hopeless() error {
	f, err := os.Open(l.path)
	if err != nil {
		return nil // there is no log yet
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, l.begin, 1<<20))
	if err != nil {
		return nil // the caller looks again
	}
	return hopelessIn(string(text))
}

func hopelessIn(log string) error {
	seen := ""
	for line := range strings.Lines(log) {
		_, fatal, ok := strings.Cut(strings.TrimSpace(line), "fatal: ")
		switch {
		case !ok:
		case fatal == seen:
			return hopelessError(fatal)
		default:
			seen = fatal
		}
	}
	return nil
}
