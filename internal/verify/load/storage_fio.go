//go:build linux

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// ByFio is a measurement by fio, which the node has: it writes and reads, and muster does the rest.
const ByFio = "fio"

// fioFile is a file of one stream of fio.
type fioFile struct {
	name string
	size int64
}

// fioOf is the name of a stream's file.
func fioOf(node string, task, stream int) string {
	return fmt.Sprintf("fio.%s.%d.%d", node, task, stream)
}

// fioWrite has fio write the task's files, and wait until they are where they stay.
func (s Storage) fioWrite(ctx context.Context, p *place, answer *meter.StorageTask) error {
	direct, err := p.direct(fmt.Sprintf("try.%s.%d", s.Node, s.Task))
	if err != nil {
		return fmt.Errorf("make a file in %s: %w", s.Dir, err)
	}
	var files []fioFile
	for i := range s.Streams {
		files = append(files, fioFile{fioOf(s.Node, s.Task, i), s.each()})
	}
	f, err := s.fio(ctx, p, fioJobs{"write", files, direct})
	answer.By = strings.TrimSpace("fio " + f.Version)
	answer.Write = moved(f, func(j meter.FioJob) *meter.FioMove { return j.Write })
	answer.Write.Direct = direct
	if !direct {
		answer.Notes = append(answer.Notes, "O_DIRECT was refused: fio wrote through the page cache, with fsync")
	}
	return err
}

// fioRead has fio read the files that it wrote on another node, if there is one.
func (s Storage) fioRead(ctx context.Context, p *place, answer *meter.StorageTask) error {
	of := s.source()
	var files []fioFile
	kept := streamed{direct: true}
	for i := range s.Streams {
		file, r := p.cold(fioOf(of, s.Task, i))
		if r.err != nil {
			return fmt.Errorf("open a file in %s: %w", s.Dir, r.err)
		}
		kept.direct = kept.direct && r.direct
		if kept.cached = max(kept.cached, r.cached); r.cached < 0 {
			kept.cached = -1
		}
		files = append(files, file)
	}
	f, err := s.fio(ctx, p, fioJobs{"read", files, kept.direct})
	answer.By = strings.TrimSpace("fio " + f.Version)
	answer.Read = moved(f, func(j meter.FioJob) *meter.FioMove { return j.Read })
	answer.Read.Direct, answer.Read.Of, answer.Read.Blind = kept.direct, of, remembered(kept)
	return err
}

// direct tries whether files of the directory can be written past the page cache.
func (p *place) direct(name string) (bool, error) {
	f, direct, err := p.create(name)
	if err != nil {
		return false, err
	}
	return direct, errors.Join(f.Close(), p.at.Remove(name))
}

// cold drops a file from this node's memory, and says how long it is and what of it stayed there.
func (p *place) cold(name string) (fioFile, streamed) {
	f, direct, err := p.open(name)
	if err != nil {
		return fioFile{}, streamed{err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() < chunk {
		err = notWhole(int(info.Size()), io.EOF)
	}
	if err != nil {
		return fioFile{}, streamed{err: err}
	}
	forget(f)
	return fioFile{name, info.Size() / chunk * chunk}, streamed{direct: direct, cached: cached(f)}
}

// fio runs one job for each file, all at once, in the run's directory: no link leads away from there. It ends when the context does.
//
// https://fio.readthedocs.io/en/latest/fio_doc.html
func (s Storage) fio(ctx context.Context, p *place, j fioJobs) (meter.Fio, error) {
	dir, err := p.at.Open(".")
	if err != nil {
		return meter.Fio{}, fmt.Errorf("open a directory in %s: %w", s.Dir, err)
	}
	defer dir.Close()
	var out bytes.Buffer
	var said tail.Writer
	cmd := exec.CommandContext(ctx, "fio", j.args(s.Time)...)
	cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ended := cmd.Run()
	if ctx.Err() != nil {
		return meter.Fio{}, context.Cause(ctx)
	}
	f := meter.ReadFio(out.Bytes())
	for _, job := range f.Jobs {
		if job.Error != 0 {
			return f, fmt.Errorf("%s with fio in %s: %w", j.deed, s.Dir, syscall.Errno(job.Error))
		}
	}
	if ended != nil || !f.Whole {
		return f, fmt.Errorf("%s with fio in %s: %s", j.deed, s.Dir, strings.Join(append(f.Problems, strings.TrimSpace(said.String())), "; "))
	}
	return f, nil
}

// fioJobs are jobs of fio that run at once, one for each file.
type fioJobs struct {
	// deed is write or read.
	deed   string
	files  []fioFile
	direct bool
}

// args is fio's command line. What follows the job named global is of all jobs; --readonly is of fio itself.
func (j fioJobs) args(span time.Duration) []string {
	args := []string{"--output-format=json"}
	own := []string{"--rw=write", "--fallocate=none", "--end_fsync=1"}
	if j.deed == "read" {
		args, own = append(args, "--readonly"), []string{"--rw=read", "--allow_file_create=0", "--invalidate=1"}
	}
	past := 0
	if j.direct {
		past = 1
	}
	args = append(args, "--name=global", "--thread", "--ioengine=psync", fmt.Sprintf("--bs=%d", chunk),
		fmt.Sprintf("--runtime=%d", int(max(1, span.Seconds()))), fmt.Sprintf("--direct=%d", past))
	args = append(args, own...)
	for i, f := range j.files {
		args = append(args, fmt.Sprintf("--name=s%d", i), "--filename="+f.name, fmt.Sprintf("--size=%d", f.size))
	}
	return args
}

// moved is what all jobs moved, until the last one's end.
func moved(f meter.Fio, of func(meter.FioJob) *meter.FioMove) *meter.StorageRate {
	sum := &meter.StorageRate{}
	for _, job := range f.Jobs {
		if m := of(job); m != nil {
			sum.Bytes += m.Bytes
			sum.Seconds = max(sum.Seconds, m.Seconds)
		}
	}
	return sum
}
