package job

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Apart is how what the ranks of a job write can be told apart.
type Apart int

// The ways. Of a script that is none of them nobody can say whose a line is.
const (
	Together Apart = iota
	// ByLabel: srun --label wrote before each line which task it is of.
	ByLabel
	// ByFile: torchrun keeps what each rank writes in files of its own beside the job's log.
	ByFile
)

// labelling is srun with --label among its options: an option's value may be a word of its own where it must have one.
var labelling = pattern.New(`(?m)^[ \t]*(?:exec[ \t]+|[A-Za-z_]+=\S*[ \t]+)*srun(?:[ \t]+(?:(?:` + valuedOption + `)[ \t]+[^- \t\n][^ \t\n]*|-[^ \t\n]+))*?[ \t]+(?:-l|--label)(?:[ \t]|$)`)

const valuedOption = `-[A-Za-z]|--(?:nodes|ntasks|ntasks-per-node|cpus-per-task|partition|nodelist|exclude|gpus|gpus-per-node|mem|time|output|error|mpi|cpu-bind|jobid|job-name|container-image|container-mounts)`

// madeHere is a line of each script that a job file becomes.
const madeHere = "\n# Made by muster of a job file: "

// ApartIn tells by a batch script how its ranks can be told apart.
func ApartIn(script []byte) Apart {
	script = bytes.ReplaceAll(script, []byte("\\\n"), []byte(" "))
	switch {
	case bytes.Contains(script, []byte(madeHere)) && bytes.Contains(script, []byte(" -m torch.distributed.run ")):
		return ByFile
	case labelling().Match(script):
		return ByLabel
	}
	return Together
}

// AllRanks stands for every rank.
const AllRanks = -1

// RankLines passes on the lines of a log that srun labelled as a rank's, without their labels; for AllRanks those of all,
// with them. Other lines are of no rank.
type RankLines struct {
	Rank int
	To   io.Writer
	part []byte
}

// longestLine is how much of a line is waited for.
const longestLine = 1 << 20

// Write implements io.Writer.
func (w *RankLines) Write(p []byte) (int, error) {
	w.part = append(w.part, p...)
	for {
		end := bytes.IndexByte(w.part, '\n') + 1
		if end == 0 && len(w.part) < longestLine {
			return len(p), nil
		}
		if end == 0 {
			end = len(w.part)
		}
		if err := w.pass(w.part[:end]); err != nil {
			return 0, err
		}
		w.part = append(w.part[:0], w.part[end:]...)
	}
}

// Flush passes on a last line that has no end.
func (w *RankLines) Flush() error {
	err := w.pass(w.part)
	w.part = nil
	return err
}

func (w *RankLines) pass(line []byte) error {
	trimmed := bytes.TrimLeft(line, " ")
	label, rest, ok := bytes.Cut(trimmed, []byte(":"))
	rank, err := strconv.Atoi(string(label))
	if !ok || err != nil || rank < 0 || len(label) > 7 || w.Rank != AllRanks && rank != w.Rank {
		return nil
	}
	if w.Rank != AllRanks {
		trimmed = bytes.TrimPrefix(rest, []byte(" "))
	}
	_, err = w.To.Write(trimmed)
	return err
}

// RankFile is a file in which one rank writes.
type RankFile struct {
	// Run is the job's run, as in the name of the run's directory: 1, or 1.2 for the second start of one with spares.
	Run  string
	Rank int
	Path string

	order []int
}

// rankPattern is where torchrun puts what its ranks write, below a run's directory: the node's first rank, a name of its
// own, its attempt, and the rank among the node's.
const rankPattern = "ranks/*/*/attempt_*/*/std*.log"

// rankFiles are those below the directory of a job's log, in the order of the runs, and of the ranks.
func rankFiles(dir fs.FS, id int) ([]RankFile, error) {
	paths, err := fs.Glob(dir, strconv.Itoa(id)+".*/"+rankPattern)
	var all []RankFile
	for _, p := range paths {
		if f, ok := rankFile(p, id); ok {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b RankFile) int {
		return cmp.Or(slices.Compare(a.order, b.order), cmp.Compare(a.Path, b.Path))
	})
	return all, err
}

// rankFile reads what the names on a path say.
func rankFile(p string, id int) (RankFile, bool) {
	names := strings.Split(p, "/")
	run := strings.TrimPrefix(names[0], strconv.Itoa(id)+".")
	numbers := append(strings.Split(run, "."), strings.TrimPrefix(names[4], "attempt_"), names[2], names[5])
	order := make([]int, len(numbers))
	for i, text := range numbers {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return RankFile{}, false
		}
		order[i] = n
	}
	base := path.Base(p)
	return RankFile{Run: run, Rank: order[len(order)-2] + order[len(order)-1], Path: p, order: order}, base == "stdout.log" || base == "stderr.log"
}

// RankReader passes on what one rank writes to its files, or for AllRanks what all do, each line with its rank.
type RankReader struct {
	Rank int
	To   io.Writer
	// Begins is told of each run of which there is something.
	Begins func(run string)

	files map[string]*rankStream
	run   string
}

// rankStream is a file that grows, and is never written anew.
type rankStream struct {
	offset int64
	to     io.Writer
	// over says that the job went on to another run since.
	over bool
}

// Look passes on what is new of a job, and says how many of its ranks have written so far. Links do not lead it out of the
// log's directory.
func (r *RankReader) Look(j slurm.Job) (ranks int, err error) {
	dir, err := os.OpenRoot(filepath.Dir(j.StdOut))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	files, err := rankFiles(dir.FS(), j.ID)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		ranks = max(ranks, f.Rank+1)
		if r.Rank != AllRanks && r.Rank != f.Rank {
			continue
		}
		s := r.stream(f)
		if s.over {
			continue
		}
		s.over = f.Run != files[len(files)-1].Run
		if err := s.copy(dir, f.Path, j.UID); err != nil {
			return ranks, err
		}
	}
	return ranks, nil
}

// stream is that of a file, from its start where it is new.
func (r *RankReader) stream(f RankFile) *rankStream {
	if s := r.files[f.Path]; s != nil {
		return s
	}
	s := &rankStream{to: r.To}
	if r.Rank == AllRanks {
		s.to = &labels{label: strconv.Itoa(f.Rank) + ": ", to: r.To}
	}
	if r.files == nil {
		r.files = map[string]*rankStream{}
	}
	r.files[f.Path] = s
	if f.Run != r.run && r.Begins != nil {
		r.Begins(f.Run)
	}
	r.run = f.Run
	return s
}

// copy passes on what is new. The file is opened each time: a job may have thousands.
func (s *rankStream) copy(dir *os.Root, path string, uid int) error {
	info, err := dir.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() <= s.offset) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := dir.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err = file.Stat(); err == nil {
		err = mayRead(info, file.Name(), os.Geteuid(), uid)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(s.to, io.NewSectionReader(file, s.offset, info.Size()-s.offset))
	s.offset += n
	return err
}

// Close passes on lines without an end.
func (r *RankReader) Close() error {
	var all []error
	for _, s := range r.files {
		if l, ok := s.to.(*labels); ok {
			all = append(all, l.flush())
		}
	}
	return errors.Join(all...)
}

// labels writes whole lines, each behind a label.
type labels struct {
	label string
	to    io.Writer
	part  []byte
}

func (l *labels) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	end := bytes.LastIndexByte(l.part, '\n') + 1
	if end == 0 && len(l.part) >= longestLine {
		end = len(l.part)
	}
	var out []byte
	for line := range bytes.Lines(l.part[:end]) {
		out = append(append(out, l.label...), line...)
	}
	l.part = append(l.part[:0], l.part[end:]...)
	if len(out) == 0 {
		return len(p), nil
	}
	_, err := l.to.Write(out)
	return len(p), err
}

func (l *labels) flush() error {
	if len(l.part) == 0 {
		return nil
	}
	_, err := l.to.Write(append(append([]byte(l.label), l.part...), '\n'))
	l.part = nil
	return err
}
