package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/muster-hpc/muster/internal/data/clean"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// cleanList writes the answer of `muster data clean` while files are found: there may be
// more of them than memory has room for.
type cleanList struct {
	app     *app
	options cleanOptions
	begun   time.Time

	cleanCounts
}

// cleanFile is one of the files of `muster data clean -o json`, which prints an object
// with them as "files", and beside that what cleanCounts has.
type cleanFile struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

type cleanCounts struct {
	// Deleted says that the files are gone. Without --delete they are not.
	Deleted bool  `json:"deleted"`
	Count   int64 `json:"count"`
	Bytes   int64 `json:"bytes"`
	// Mounts are the directories that were left as they are, because they are on others.
	Mounts int64 `json:"mounts"`
	// Failed are the files and directories that could not be looked at or deleted.
	Failed int64 `json:"failed"`
}

func newCleanList(a *app, o cleanOptions) (*cleanList, error) {
	l := &cleanList{app: a, options: o, begun: time.Now(), cleanCounts: cleanCounts{Deleted: o.delete}}
	if a.output != "json" {
		return l, nil
	}
	_, err := io.WriteString(a.out, `{"files": [`)
	return l, err
}

// add writes a file.
func (l *cleanList) add(f *clean.File) error {
	l.Count++
	l.Bytes += f.SizeBytes
	if l.app.output != "json" {
		age := count.Span(l.begun.Sub(f.Modified))
		_, err := fmt.Fprintf(l.app.out, "%9s  %-9s  %s\n", count.Bytes(f.SizeBytes), age, page.Printable(f.Path))
		return err
	}
	text, err := json.Marshal(cleanFile{f.Path, f.SizeBytes, f.Modified})
	if err != nil {
		return err
	}
	comma := ","
	if l.Count == 1 {
		comma = ""
	}
	_, err = fmt.Fprintf(l.app.out, "%s\n  %s", comma, text)
	return err
}

// end writes what the list comes to, and fails if something could not be done. The list
// ended with an error, or without one.
func (l *cleanList) end(stopped error) error {
	for _, n := range []int64{l.Mounts, l.Failed} {
		if n > toldOf {
			l.app.note("and %d more of that kind", n-toldOf)
		}
	}
	if err := l.counts(); err != nil {
		return err
	}
	if l.Failed > 0 && stopped == nil {
		return fmt.Errorf("%s could not be looked at or deleted; everything else was", count.Of(l.Failed, "path"))
	}
	return nil
}

func (l *cleanList) counts() error {
	if l.app.output != "json" {
		l.app.note("%s", l.summary())
		return nil
	}
	text, err := json.Marshal(l.cleanCounts)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.app.out, "\n], %s\n", text[1:])
	return err
}
