//go:build linux

package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pattern"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/verify"
)

// allocation are nodes that Slurm has given us. They are ours for as long as our ends of two pipes are open: when this process
// ends, whatever way, salloc is told to go if it still waits, and else its command sees the end of its input, removes what is left of
// us, and salloc gives the nodes back.
type allocation struct {
	job   int
	nodes []string
	gpus  int // on each of them
	// waited is how long the nodes took to come.
	waited time.Duration
	// sent is the file on the nodes that is removed at the end, empty for none.
	sent   string
	cancel func(job string) error
	// alone says that it is this machine, and that there is no salloc.
	alone bool

	cmd     *exec.Cmd
	input   io.WriteCloser
	waiting *os.File
	ended   chan struct{}
	said    *tail.Writer
}

// request is what salloc is asked for.
type request struct {
	nodes     int
	nodeList  string
	partition string
	gpus      int // per node
	limit     time.Duration
	sent      string
	// alone says that it is this machine, and that nobody is asked, as there is no Slurm.
	alone bool
	// cancel ends a job whose salloc does not end.
	cancel func(job string) error
}

// waiter becomes salloc, whose input nobody reads while it waits. A process beside it listens to descriptor 3: if that ends without a
// word, salloc gets the signal on which it withdraws what it has asked for. Of the nodes that it has, it would give up at once.
// https://github.com/SchedMD/slurm/blob/slurm-22-05-8-1/src/salloc/salloc.c
const waiter = `{ read -r word || kill "$$"; } <&3 >/dev/null 2>&1 & exec salloc "$@" 3<&-`

// holder is what salloc runs: it says which job and nodes there are, and reads what is to be removed, three lines for each, until nobody
// holds its input any more, or it is told to end, as all of a session is that was killed. What was removed by then has lines without a
// program. Steps that clean up get ten seconds, as srun kills what it started once the job ends. Then it removes what is left of
// storage's places, and the file that was sent to the nodes.
const holder = `trap : TERM HUP INT
echo "$SLURM_JOB_ID $SLURM_JOB_NODELIST"
sent=$1
` + holderHears + `for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format=%i 2>/dev/null | grep -q '[.][0-9]' || break
	sleep 0.5
done
while [ $# -ge 3 ]; do
	case $gone in
	*" $2 "*) ;;
	*)
		said=$(timeout 60 srun --overlap --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mem=0 --cpu-bind=none --input=none --no-kill --kill-on-bad-exit=0 --quiet "$1" agent verify storage end "$3" --run="$2" 2>&1)
		case "$? $said" in
		"0 "*'"fault"'* | [!0]*) failed=1; echo ".muster-verify-$2 may be left in $3" >&2 ;;
		esac
		;;
	esac
	shift 3
done
if [ -n "$sent" ]; then
	timeout 20 srun --overlap --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mem=0 --cpu-bind=none --input=none --no-kill --kill-on-bad-exit=0 --quiet rm -f "$sent" || failed=1
fi
exit $failed`

// holderHears reads, three lines for each, what is to be removed, into the arguments, and what is gone.
const holderHears = `gone=' ' failed=0
set --
while IFS= read -r program && IFS= read -r run && IFS= read -r dir; do
	if [ -n "$program" ]; then set -- "$@" "$program" "$run" "$dir"; else gone="$gone$run "; fi
done
`

// holderAlone holds this machine alone: there is no job, and what was started here may still clean up.
const holderAlone = `trap : TERM HUP INT
echo alone
` + holderHears + `while [ $# -ge 3 ]; do
	case $gone in
	*" $2 "*) ;;
	*)
		left=1
		for try in 1 2 3 4 5; do
			said=$(timeout 60 "$1" agent verify storage end "$3" --run="$2" 2>&1)
			case "$? $said" in "0 "*'"fault"'* | [!0]*) sleep 1 ;; *) left=0; break ;; esac
		done
		if [ $left = 1 ]; then failed=1; echo ".muster-verify-$2 may be left in $3" >&2; fi
		;;
	esac
	shift 3
done
exit $failed`

// line is what holds the nodes.
func (q request) line() []string {
	if q.alone {
		return []string{"sh", "-c", holderAlone}
	}
	return append([]string{"sh", "-c", waiter, "sh"}, q.args()...)
}

// args are salloc's.
func (q request) args() []string {
	minutes := int(q.limit/time.Minute) + 1
	args := []string{"--job-name=" + verify.JobName, "--exclusive", "--no-kill", "--no-bell", "--ntasks-per-node=1", "--mem=0", "--time=" + strconv.Itoa(minutes)}
	if q.nodeList != "" {
		args = append(args, "--nodelist="+q.nodeList)
	}
	args = append(args, "--nodes="+strconv.Itoa(q.nodes))
	if q.partition != "" {
		args = append(args, "--partition="+q.partition)
	}
	if q.gpus > 0 {
		args = append(args, "--gres=gpu:"+strconv.Itoa(q.gpus))
	}
	return append(args, "sh", "-c", holder, "sh", q.sent)
}

// askedJob finds the job in what salloc says while it waits, in the queue or for nodes that start.
var askedJob = pattern.New(`(?m)^salloc: (?:Pending|Granted) job allocation (\d+)`)

// allocate asks for nodes and waits for them. waiting is called now and then with the job's number, 0 while it has none.
func allocate(ctx context.Context, q request, waiting func(job int, since time.Duration)) (*allocation, error) {
	line := q.line()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = withoutSlurm(os.Environ())
	// Ctrl-C of a terminal is for us: we give the nodes back in our own time.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	hears, tells, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{hears} // its descriptor 3
	a := &allocation{gpus: max(0, q.gpus), sent: q.sent, cancel: q.cancel, alone: q.alone, cmd: cmd, input: input, waiting: tells, ended: make(chan struct{}), said: &tail.Writer{}}
	cmd.Stderr = a.said
	err = cmd.Start()
	hears.Close()
	if err != nil {
		tells.Close()
		return nil, fmt.Errorf("ask Slurm for nodes: %w", err)
	}
	began := time.Now()
	granted := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(output, 1<<20)).ReadString('\n')
		granted <- line
		_, _ = io.Copy(io.Discard, output)
		_ = cmd.Wait()
		close(a.ended)
	}()
	if err = a.await(ctx, granted, waiting); err == nil {
		_, err = io.WriteString(tells, "granted\n")
	}
	if err != nil {
		a.close()
		return nil, err
	}
	a.waited = time.Since(began)
	return a, nil
}

// While nodes are awaited, their job is looked at and told of this often.
const (
	waitLook = 2 * time.Second
	waitTold = 10 * time.Second
)

// await waits until salloc's command has said which nodes there are.
func (a *allocation) await(ctx context.Context, granted <-chan string, waiting func(int, time.Duration)) error {
	began, tick := time.Now(), time.NewTicker(waitLook)
	defer tick.Stop()
	for {
		select {
		case line := <-granted:
			return a.read(line)
		case <-tick.C:
			waiting(a.pending(), time.Since(began))
		case <-ctx.Done():
			return fmt.Errorf("wait for nodes: %w", context.Cause(ctx))
		}
	}
}

// read reads what salloc's command has said. Nothing is that salloc ended.
func (a *allocation) read(line string) error {
	if a.alone && line == "alone\n" {
		return nil
	}
	words := strings.Fields(line)
	if len(words) != 2 {
		_ = a.input.Close() // one that says something else goes on for as long
		<-a.ended
		return fmt.Errorf("ask Slurm for nodes: %s", cleaned(a.said.String()))
	}
	var err error
	if a.job, err = strconv.Atoi(words[0]); err == nil {
		a.nodes, err = slurm.Expand(words[1])
	}
	if err != nil {
		return fmt.Errorf("ask Slurm for nodes: salloc's job said %q: %w", line, err)
	}
	return nil
}

// pending is the job that salloc waits for, 0 if it has said none.
func (a *allocation) pending() int {
	match := askedJob().FindStringSubmatch(a.said.String())
	if match == nil {
		return 0
	}
	job, _ := strconv.Atoi(match[1])
	return job
}

// leaves says what a program of muster's on the nodes is to remove at the end: the place of a run of storage's in a directory. Without a
// program it was removed.
func (a *allocation) leaves(program, run, dir string) error {
	if strings.Contains(program+run+dir, "\n") {
		return fmt.Errorf("%q cannot be measured: its name has a line break", dir)
	}
	_, err := io.WriteString(a.input, program+"\n"+run+"\n"+dir+"\n")
	return err
}

// goodbye is how long salloc may take to give nodes back, and to have removed what was left on them.
const goodbye = 2 * time.Minute

// close gives the nodes back, or what was asked for. It says what was left behind. It may be called twice.
func (a *allocation) close() error {
	if a == nil {
		return nil
	}
	if !a.held() { // nobody is to be told to go: its number may be another process's by now
		_, _ = io.WriteString(a.waiting, "ended\n")
	}
	_, _ = a.waiting.Close(), a.input.Close()
	select {
	case <-a.ended:
	case <-time.After(goodbye):
		return errors.Join(a.kill(), a.left("salloc did not end"))
	}
	if !a.cmd.ProcessState.Success() {
		return a.left(cleaned(a.said.String()))
	}
	return nil
}

func (a *allocation) left(why string) error {
	switch {
	case a.job == 0:
		return nil
	case strings.Contains(why, " may be left in "):
		return errors.New(why)
	case a.sent == "":
		return nil
	}
	return fmt.Errorf("%s may be left on %s: %s", a.sent, slurm.Compress(a.nodes), why)
}

// kill ends salloc, which can then give nothing back, and the job.
func (a *allocation) kill() error {
	_ = syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL)
	job := max(a.job, a.pending())
	if job == 0 {
		return nil
	}
	if err := a.cancel(strconv.Itoa(job)); err != nil {
		return fmt.Errorf("end job %d: %w", job, err)
	}
	return nil
}

// held says that the nodes are still ours.
func (a *allocation) held() bool {
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

// unbound is what srun says of --cpu-bind=none where Slurm binds nothing to begin with.
const unbound = "cluster configuration lacks support for cpu binding"

// cleaned is what salloc or srun has to say, without its name before each line.
func cleaned(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, p := range []string{"salloc: ", "srun: ", "sbatch: ", "sbcast: ", "error: "} {
			line = strings.TrimPrefix(line, p)
		}
		if line != "" && line != unbound {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "it said nothing"
	}
	return strings.Join(lines, "; ")
}

// withoutSlurm is an environment without what another job has left in it, such as that of the shell of a job.
func withoutSlurm(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		if name == "SLURM_CONF" || name == "SLURM_JWT" {
			return false
		}
		return slices.ContainsFunc([]string{"SLURM_", "SLURMD_", "SALLOC_", "SBATCH_", "PMIX_", "PMI_"}, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

var errCut = errors.New("its output was cut off")
