package sbatch_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/sbatch"
)

// Programs that stand in for Slurm's: srun runs the command behind its options as a task of a
// step, and a program in place of Python's writes down what it was given.
const (
	srunStub = `#!/bin/sh
export SLURM_STEP_ID=0 SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=1
for word; do
    case $word in
    --overlap) SLURM_STEP_ID=1; shift ;;
    --*) shift ;;
    *) break ;;
    esac
done
exec "$@"
`
	scontrolStub = `#!/bin/sh
case $* in
"--oneliner show job 41") echo "JobId=41 PreemptTime=${PREEMPTED:-None} SuspendTime=None" ;;
--version) echo "slurm-wlm $VERSION" ;;
"requeue 41") touch "$NOTES/requeued" ;;
*) printf 'node-1\nnode-2\n' ;;
esac
`
	pythonStub = "#!/bin/sh\nprintf '%s\\0' \"$@\" >\"$NOTES/words\"\nenv -0 >\"$NOTES/environment\"\nexit 7\n"
)

// stage is a directory where scripts run as if Slurm had started them.
type stage struct {
	t     testing.TB
	dir   string
	facts *batch.Facts
}

func newStage(t testing.TB, python string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), facts: clusterOf(t, "p5e.48xlarge", efa)}
	for name, text := range map[string]string{"srun": srunStub, "scontrol": scontrolStub, "python": python} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// job is the text of a job file whose log, and whose Python, are on the stage.
func (s *stage) job(more string) string {
	return fmt.Sprintf("Job: a\nPython: %s/python\nLogs: %s\nTime: 60\n%s", s.dir, s.dir, more)
}

// command is the script of a job as Slurm would start it.
func (s *stage) command(j *jobfile.Job, env ...string) *exec.Cmd {
	s.t.Helper()
	script, problems := sbatch.New(j, s.facts)
	if script == nil {
		s.t.Fatal(said(s.t, problems))
	}
	file := filepath.Join(s.dir, "script")
	if err := os.WriteFile(file, []byte(script.Text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), "bash", file)
	cmd.Env = append([]string{"PATH=" + s.dir + ":/usr/bin:/bin", "NOTES=" + s.dir, "SLURM_JOB_ID=41", "SLURM_JOB_NODELIST=node-1", "SLURM_JOB_NUM_NODES=1",
		"SLURM_CPUS_PER_TASK=16"}, env...)
	return cmd
}

// notes are the words or the environment that the program was given.
func (s *stage) notes(name string) []string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// FuzzNew holds that no text of a job file is more than a word of the script: the program gets
// what the file says, and nothing else runs.
func FuzzNew(f *testing.F) {
	for _, text := range []string{
		"plain", "it's", `"$HOME"`, "$(touch evil)", "`touch evil`", "a;touch evil", "a\ntouch evil", "\\", "a\\", "-n", "--", "~", "*", "#", "!x", "a b", "$'x'",
		"&& touch evil", "%j", "{a,b}", "ü\u202e", "'\\''", "EOF\ntouch evil\nEOF", ">evil", "\t", "[[", "x=y",
	} {
		f.Add(text, uint8(len(text)))
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		s := newStage(t, pythonStub)
		quoted, _ := json.Marshal(text) // JSON's texts are YAML's
		launcher := []string{"torchrun", "srun", "accelerate", "megatron"}[which%4]
		file := s.job(fmt.Sprintf("Nodes: 1\nLauncher: %s\nScript: train.py\nArguments: [first, %s, last]\nEnvironment: {MINE: %s}\nData: [%s]\nMounts: []\n",
			launcher, quoted, quoted, quoted))
		j, _ := jobfile.Parse("job.yaml", s.dir, []byte(file))
		if j == nil {
			return
		}
		if err := os.MkdirAll(j.Data[0], 0o755); err != nil {
			return // no directory can have this name
		}
		cmd := s.command(j)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 7 {
			t.Fatalf("%v\n%s", err, out)
		}
		words := s.notes("words")
		if want := []string{filepath.Join(s.dir, "train.py"), "first", j.Arguments[1], "last"}; !slices.Equal(words[len(words)-4:], want) {
			t.Errorf("the program got %q, want %q", words, want)
		}
		if !slices.Contains(s.notes("environment"), "MINE="+j.Environment[0].Value) {
			t.Errorf("MINE=%q is not set", text)
		}
		if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
			t.Errorf("the script made %s", left[0].Name())
		}
	})
}

// port is where the ranks of a job meet.
func (s *stage) port(j *jobfile.Job, env ...string) int {
	s.t.Helper()
	out, err := s.command(j, env...).CombinedOutput()
	for _, word := range s.notes("words") {
		if text, ok := strings.CutPrefix(word, "--master_port="); ok {
			port, _ := strconv.Atoi(text)
			return port
		}
	}
	s.t.Fatalf("the launcher got no port: %v\n%s", err, out)
	return 0
}

// TestNew_ports holds that jobs that can share a node do not share a port, whatever their IDs;
// that ports are not among those that Linux hands out; and that one that is taken is left alone.
func TestNew_ports(t *testing.T) {
	s := newStage(t, pythonStub)
	part := jobOf(t, s.job("GPUs: 2\nScript: train.py\n"))
	seen := map[int]string{}
	for _, job := range []struct{ id, gpus string }{
		{"41", "0,1"}, {"42", "2,3"}, {"641", "4,5"}, {"6041", "6,7"}, {"40", "6,7"}, {"4294901", "14"}, {"599", "15"}, {"600", ""},
	} {
		port := s.port(part, "SLURM_JOB_ID="+job.id, "SLURM_JOB_GPUS="+job.gpus)
		if other := seen[port]; other != "" || port < 1024 || port > 32766 || port%2 != 0 {
			t.Errorf("job %s on GPUs %s has port %d; so has %q", job.id, job.gpus, port, other)
		}
		seen[port] = job.id
	}
	whole := jobOf(t, s.job("Nodes: 1\nScript: train.py\n"))
	first := s.port(whole, "SLURM_JOB_ID=67108863")
	if first < 1024 || first > 32766 {
		t.Errorf("port %d", first)
	}
	if taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+1)); err == nil { // else somebody has taken it
		defer taken.Close()
	}
	if next := s.port(whole, "SLURM_JOB_ID=67108863"); next == first {
		t.Errorf("port %d is taken, for NCCL", first+1)
	}
}

// ranksStub are a rank with a handler for USR1, a worker of it that has one, too, and a rank
// without.
const ranksStub = `#!/bin/bash
cd "$NOTES"
rank() {
    trap 'echo "told $1"' USR1
    if [[ $1 == leader ]]; then bash -c 'rank worker' & fi
    echo "ready $1"
    until [[ -e done ]]; do sleep 0.02; done
}
export -f rank
bash -c 'rank leader' &
leader=$!
bash -c 'echo "ready deaf"; until [[ -e done ]]; do sleep 0.02; done; touch lived'
wait "$leader"
exit "$CODE"
`

// TestNew_passes_the_signal_on holds that USR1 reaches the ranks that wait for it, and they
// alone; that the script ends as the ranks do, if they fail; and that ranks that end well after it have not completed.
func TestNew_passes_the_signal_on(t *testing.T) {
	for _, row := range []struct {
		name, code, preempted, version string
		want                           int
		early                          string
		requeued                       bool
	}{
		{"fails", "3", "", "22.05.8", 3, "", false},
		{"fails_and_makes_room", "3", "2026-11-20T20:34:36", "22.05.8", 3, "", false},
		{"ends_before_its_time", "0", "", "22.05.8", 1, "Job 41 ended early: its time was nearly over", false},
		{"makes_room", "0", "2026-11-20T20:34:36", "22.05.8", 1, "Job 41 ended early: it makes room for another job", true},
		{"makes_room_in_23.11", "0", "2026-11-20T20:34:36", "23.11.10", 1, "Job 41 ended early: it makes room for another job", true},
		{"is_queued_by_Slurm", "0", "2026-11-20T20:34:36", "24.05.0", 1, "Job 41 ended early: it makes room for another job", false},
		{"is_queued_by_Slurm_of_25.11", "0", "2026-11-20T20:34:36", "25.11.2", 1, "Job 41 ended early: it makes room for another job", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t, ranksStub)
			early := s.told(row.want, "CODE="+row.code, "PREEMPTED="+row.preempted, "VERSION="+row.version)
			if _, err := os.Stat(filepath.Join(s.dir, "requeued")); early != row.early || (err == nil) != row.requeued {
				t.Errorf("the script said %q, want %q; scontrol requeue: %v", early, row.early, err)
			}
		})
	}
}

// TestNew_told_nobody: ranks that have no handler and end well have completed.
func TestNew_told_nobody(t *testing.T) {
	s := newStage(t, "#!/bin/sh\necho ready\nuntil [ -e \"$NOTES/done\" ]; do sleep 0.02; done\n")
	cmd := s.command(jobOf(t, s.job("Nodes: 1\nLauncher: srun\nScript: train.py\n")))
	file, err := os.ReadFile(cmd.Args[1])
	if err != nil {
		t.Fatal(err)
	}
	// The signal's way is over when the trap is: its last word is a file that the rank waits for.
	text := strings.Replace(string(file), "\n}\ntrap pass_on USR1", "\n    touch \"$NOTES/done\"\n}\ntrap pass_on USR1", 1)
	if err := os.WriteFile(cmd.Args[1], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for lines := bufio.NewScanner(out); lines.Scan(); all += lines.Text() + "\n" {
		if lines.Text() == "ready" {
			if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(all, "USR1 goes to the ranks") || strings.Contains(all, "early") {
		t.Errorf("%v\n%s", err, all)
	}
}

// told sends the signal to a script of ranksStub, and holds who gets it. It returns what the script says of its end.
func (s *stage) told(code int, env ...string) (early string) {
	t := s.t
	t.Helper()
	cmd := s.command(jobOf(t, s.job("Nodes: 1\nLauncher: srun\nScript: train.py\n")), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready, told := 0, ""
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "ready "):
			if ready++; ready == 3 {
				if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
					t.Fatal(err)
				}
			}
		case strings.HasPrefix(line, "told "):
			told += line + "\n"
			if err := os.WriteFile(filepath.Join(s.dir, "done"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		case strings.Contains(line, " ended early: "):
			early = line
		}
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != code {
		t.Errorf("the script ended with %v, want exit code %d", err, code)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "lived")); told != "told leader\n" || err != nil {
		t.Errorf("%q; of the rank without a handler: %v", told, err)
	}
	return early
}

// TestNew_secrets holds that ranks find secrets as they are, whatever is in them; that a trace of
// the script does not show them; and that nothing runs without.
func TestNew_secrets(t *testing.T) {
	const value = "hf_'quoted' \"$HOME\" \\ `x`\nsecond line \xff"
	for _, row := range []struct {
		name, muster string
		code         int
	}{
		{"given", "#!/bin/sh\n[ \"$*\" = 'agent secrets ONE TWO' ] && cat \"$NOTES/values\"\n", 7},
		{"half", "#!/bin/sh\nprintf 'only one\\0'\n", 1},
		{"refused", "#!/bin/sh\nexit 1\n", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t, pythonStub)
			cmd := s.command(jobOf(t, s.job("Nodes: 1\nScript: train.py\nSecrets: {ONE: {Environment: ONE}, TWO: {File: x}}\n")), "SHELLOPTS=xtrace")
			muster := filepath.Join(s.dir, "muster")
			script, err := os.ReadFile(cmd.Args[1])
			for path, text := range map[string]string{
				muster: row.muster, filepath.Join(s.dir, "values"): value + "\x00two\x00", cmd.Args[1]: strings.ReplaceAll(string(script), sbatch.Program, muster),
			} {
				if err == nil {
					err = os.WriteFile(path, []byte(text), 0o755)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != row.code {
				t.Fatalf("%v, want exit code %d\n%s", err, row.code, out)
			}
			if strings.Contains(string(out), "hf_") || !strings.Contains(string(out), "+ export ONE TWO") == (row.code == 7) {
				t.Errorf("the trace is\n%s", out)
			}
			if row.code != 7 {
				return
			}
			if got := s.notes("environment"); !slices.Contains(got, "ONE="+value) || !slices.Contains(got, "TWO=two") {
				t.Errorf("the ranks have %q", got)
			}
		})
	}
}
