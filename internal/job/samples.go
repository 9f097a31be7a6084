package job

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Written is what a job's output says of its progress.
type Written struct {
	Samples []trainlog.Sample
	// Changed is when it was written last; zero where there is no output.
	Changed time.Time
	// Bytes is how much was read.
	Bytes int64
}

// ReadSamples reads the whole output of a user's job. A file that is not there has none, one that is larger than most bytes is an error.
func ReadSamples(path string, uid int, most int64) (w Written, err error) {
	file, info, err := openLog(path, uid)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return w, nil
	}
	if info.Size() > most {
		return w, fmt.Errorf("read %s: it has %d MB, and no more than %d are read", path, info.Size()/1e6, most/1e6)
	}
	var r trainlog.Reader
	piece := make([]byte, 1<<20)
	in := io.LimitReader(file, info.Size())
	for {
		n, err := in.Read(piece)
		w.Samples = append(w.Samples, r.Feed(piece[:n]).Samples...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return w, fmt.Errorf("read %s: %w", path, err)
		}
	}
	w.Samples, w.Changed, w.Bytes = append(w.Samples, r.End().Samples...), info.ModTime(), info.Size()
	return w, nil
}

// OutputOf is where a job of the history wrote its output, as its batch script says; empty if that cannot be told.
func OutputOf(script []byte, r slurm.Run) string {
	stdout, _ := outputPaths(script, r)
	return stdout
}

// Resolved is a job whose output files have the names that Slurm gives them.
func Resolved(j slurm.Job) slurm.Job { return resolved(j) }
