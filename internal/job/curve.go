package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/sys/tail"
)

// Curve reads the progress in a file as it grows, from near its end: what came before the
// last MiB of the first look is left out. One that was written anew is read anew. It is for
// one goroutine at a time.
type Curve struct {
	Path string
	// UID is the job's user.
	UID int
	// Samples are the newest of those that were found, the last one last.
	Samples []trainlog.Sample

	spot   tail.Spot
	begun  bool
	reader trainlog.Reader
}

// mostSamples is how many are kept, curveStep how much one look reads, in bytes.
const (
	mostSamples = 1000
	curveStep   = 4 << 20
)

// Look reads what is new. A file that is not there has nothing.
func (c *Curve) Look() error {
	file, info, err := openLog(c.Path, c.UID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no ordinary file", c.Path)
	}
	if !c.spot.Holds(file, info) {
		*c = Curve{Path: c.Path, UID: c.UID}
	}
	if !c.begun {
		c.begun, c.spot = true, tail.Spot{Offset: max(0, info.Size()-tailSize), Inode: tail.Inode(info)}
	}
	piece, err := io.ReadAll(io.TeeReader(io.NewSectionReader(file, c.spot.Offset, curveStep), &c.spot))
	if err != nil {
		return err
	}
	c.Samples = append(c.Samples, c.reader.Feed(piece).Samples...)
	if over := len(c.Samples) - mostSamples; over > 0 {
		c.Samples = append(c.Samples[:0], c.Samples[over:]...)
	}
	return nil
}

// lastLines is how much of a file's end LastLines reads, in bytes, longLine how much of one line it returns.
const (
	lastLines = 64 << 10
	longLine  = 1000
)

// LastLines are at most n lines at the end of a file, which may be of any length. A file that
// is not there has none.
func LastLines(path string, uid, n int) ([]string, error) {
	tail, from, err := readTail(path, uid, lastLines)
	if err != nil || len(tail) == 0 {
		return nil, err
	}
	all := bytes.Split(bytes.TrimSuffix(tail, []byte("\n")), []byte("\n"))
	if from > 0 {
		all = all[1:] // it is not whole
	}
	all = all[max(0, len(all)-n):]
	lines := make([]string, len(all))
	for i, text := range all {
		if at := bytes.LastIndexByte(bytes.TrimRight(text, "\r"), '\r'); at >= 0 {
			text = text[at+1:] // a bar writes over what stood there
		}
		lines[i] = string(bytes.TrimRight(text[:min(len(text), longLine)], "\r"))
	}
	return lines, nil
}
