package job_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestApartIn(t *testing.T) {
	const made = "#!/bin/bash\n# Made by muster of a job file: change that, and make this anew.\n"
	for script, want := range map[string]job.Apart{
		made + "srun \\\n  sh -c 'exec \"$0\" -m torch.distributed.run x' python3\n": job.ByFile,
		made + "srun --label --cpus-per-task=1 \\\n  sh\n":                           job.ByLabel,
		made + "srun sh -c 'exec \"$0\" -m accelerate.commands.launch'\n":            job.Together,
		"srun -m torch.distributed.run x":                                            job.Together,
		"srun -l train.py":                                                           job.ByLabel,
		"  exec srun -N 2 --mpi=pmix \\\n --label train.py\n":                        job.ByLabel,
		"NCCL_DEBUG=INFO srun --nodes 2 -l train.py &\n":                             job.ByLabel,
		"srun train.py -l\n":                                                         job.Together,
		"srun --exclusive train.py --label\n":                                        job.Together,
		"#srun -l train.py\n":                                                        job.Together,
		"echo srun -l\n":                                                             job.Together,
		"":                                                                           job.Together,
		"srun " + strings.Repeat("-a b ", 20000) + "train.py -l":                     job.Together,
	} {
		if got := job.ApartIn([]byte(script)); got != want {
			t.Errorf("%.80q: got %d, want %d", script, got, want)
		}
	}
}

// TestRankLines takes a rank's lines out of a log, in whatever pieces they come.
func TestRankLines(t *testing.T) {
	const log = "Job 7, attempt 1\n 0: a\n11: b\n 0:\n1: c: d\nslurmstepd: error: x\n12345678: y\n-1: z\n 0: \u00e9nd"
	for rank, want := range map[int]string{0: "a\n\n\u00e9nd", 1: "c: d\n", 11: "b\n", 2: "", job.AllRanks: "0: a\n11: b\n0:\n1: c: d\n0: \u00e9nd"} {
		var got strings.Builder
		w := &job.RankLines{Rank: rank, To: &got}
		one := iotest.OneByteReader(strings.NewReader(log))
		buffer := make([]byte, 8)
		for {
			n, err := one.Read(buffer)
			if _, failed := w.Write(buffer[:n]); failed != nil {
				t.Fatal(failed)
			}
			if err != nil {
				break
			}
		}
		if err := w.Flush(); err != nil || got.String() != want {
			t.Errorf("rank %d: got %q, %v, want %q", rank, got.String(), err, want)
		}
	}
	if _, err := (&job.RankLines{To: failing{}}).Write([]byte("0: a\n")); err == nil {
		t.Error("a writer that fails is not told of")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

// putRank adds a text to a file.
func putRank(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRankReader reads what torchrun leaves of the ranks of a job: of all runs in their order, of files that grow, and
// nothing that is outside of the log's directory.
func TestRankReader(t *testing.T) {
	dir := t.TempDir()
	put := func(path, text string) { t.Helper(); putRank(t, filepath.Join(dir, "7."+path), text) }
	put("2/ranks/0/7.2_x/attempt_0/0/stdout.log", "fifth\n")
	put("1/ranks/0/7.1_a/attempt_0/0/stdout.log", "first\n")
	put("1/ranks/8/7.1_b/attempt_0/1/stderr.log", "second\nthi")
	put("1/ranks/8/7.1_b/attempt_1/1/stderr.log", "fourth\n")
	put("1.10/ranks/0/7.1_b/attempt_1/0/stdout.log", "later\n")
	put("1/ranks/x/7.1_b/attempt_1/1/stderr.log", "no\n")
	put("1/ranks/0/7.1_b/attempt_1/0/stdin.log", "no\n")
	put("x/ranks/0/7.1_b/attempt_1/0/stdout.log", "no\n")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("no\n"), 0o600), os.MkdirAll(filepath.Join(dir, "7.1/ranks/0/7.1_a/attempt_0/2"), 0o755),
		os.Symlink(secret, filepath.Join(dir, "7.1/ranks/0/7.1_a/attempt_0/2/stdout.log"))); err != nil {
		t.Fatal(err)
	}
	j := slurm.Job{ID: 7, StdOut: filepath.Join(dir, "a-7.out")}
	var all, ninth strings.Builder
	runs := ""
	a, b := &job.RankReader{Rank: job.AllRanks, To: &all, Begins: func(run string) { runs += run + " " }}, &job.RankReader{Rank: 9, To: &ninth}
	look := func() {
		t.Helper()
		for _, r := range []*job.RankReader{a, b} {
			if ranks, err := r.Look(j); ranks != 10 || err != nil {
				t.Fatalf("%d ranks, %v", ranks, err)
			}
		}
	}
	look()
	put("2/ranks/8/7.2_x/attempt_0/1/stdout.log", "sixth\n")
	look()
	put("2/ranks/8/7.2_x/attempt_0/1/stdout.log", "seventh")
	look()
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := ninth.String(), "second\nthifourth\nsixth\nseventh"; got != want {
		t.Errorf("rank 9: got %q, want %q", got, want)
	}
	whole := "0: first\n9: second\n9: fourth\n0: later\n0: fifth\n9: sixth\n"
	if got := all.String(); !strings.HasPrefix(got, whole) || len(got) != len(whole)+len("9: thi\n9: seventh\n") || runs != "1 1.10 2 " {
		t.Errorf("all: got %q of runs %s", got, runs)
	}
	if ranks, err := (&job.RankReader{To: &all}).Look(slurm.Job{ID: 8, StdOut: "/nonexistent/x"}); ranks != 0 || err != nil {
		t.Errorf("of a job without: %d, %v", ranks, err)
	}
}
