package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// shownJob is what the tests look at in `job show -o json`.
type shownJob struct {
	ID       int    `json:"id"`
	State    string `json:"state"`
	Ended    bool   `json:"ended"`
	ExitCode int    `json:"exit_code"`
	Progress struct {
		Batch int     `json:"batch"`
		Loss  float64 `json:"loss"`
	} `json:"progress"`
	Nodes    []string `json:"nodes"`
	Attempts []struct {
		State string `json:"state"`
	} `json:"attempts"`
}

func (c *cluster) show(id string) (j shownJob) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.must("job", "show", "-o", "json", id)), &j); err != nil {
		c.t.Fatal(err)
	}
	return j
}

// following is a muster that follows a job.
type following struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func (c *cluster) follow(args ...string) *following {
	c.t.Helper()
	return c.followed(c.command(args...))
}

// followBy follows a muster that a shell becomes: "$@" is its command line.
func (c *cluster) followBy(shell string, args ...string) *following {
	c.t.Helper()
	of := c.command(args...)
	cmd := exec.Command("/bin/sh", append([]string{"-c", shell, "sh"}, of.Args...)...)
	cmd.Dir, cmd.Env = of.Dir, of.Env
	return c.followed(cmd)
}

func (c *cluster) followed(cmd *exec.Cmd) *following {
	c.t.Helper()
	f := &following{cmd: cmd}
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	f.cmd.Stderr = &f.stderr
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	f.lines = bufio.NewScanner(out)
	return f
}

// until reads until a line comes.
func (f *following) until(t *testing.T, line string) {
	t.Helper()
	for f.lines.Scan() {
		if f.lines.Text() == line {
			return
		}
	}
	_ = f.cmd.Wait()
	t.Fatalf("the output ended without %q; stderr:\n%s", line, &f.stderr)
}

// end reads the rest and returns it with the exit code.
func (f *following) end() (rest []string, code int) {
	for f.lines.Scan() {
		rest = append(rest, f.lines.Text())
	}
	_ = f.cmd.Wait()
	return rest, f.cmd.ProcessState.ExitCode()
}

// TestJobs runs jobs of all fates on one cluster.
func TestJobs(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(3)+dataFile).each(map[string]func(*testing.T, *cluster){
		"is_checked_truly":     checkIsTrue,
		"refuses_as_recorded":  refusesAsRecorded,
		"needs":                jobNeeds,
		"completes":            jobCompletes,
		"fails":                jobFails,
		"asks_for_too_much":    jobAsksForTooMuch,
		"is_forced":            jobIsForced,
		"is_read_from_stdin":   jobIsReadFromStdin,
		"is_cancelled":         jobIsCancelled,
		"is_no_longer_watched": jobIsNoLongerWatched,
		"loses_its_node":       jobLosesItsNode,
		"is_reported":          jobIsReported,
		"leaves_its_nodes":     jobLeavesItsNodes,
		"tells_its_nodes":      jobTellsItsNodes,
		"has_what_is_active":   jobHasWhatIsActive,
	})
}

// TestUsersOfTheMachines has users do on one cluster what they do on clusters besides jobs.
func TestUsersOfTheMachines(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(3)+dataFile).each(map[string]func(*testing.T, *cluster){
		"finds_later_programs": findsWhatIsInstalledLater,
		"slurm_as_production":  slurmAsInProduction,
		"debian_finds_s3":      debianClientFindsS3,
		"datasets":             datasets,
		"cleans":               cleans,
		"image_user_is_owner":  imageUserIsOwner,
		"df_shows_mounts":      dfShowsFileSystems,
		"ssh_between_machines": sshBetweenMachines,
		"ssh_of_other_users":   sshOfOtherUsers,
		"ssh_has_jobs_rights":  sshHasJobsRights,
		"ssh_endures_flood":    sshEnduresFlood,
		"sockets_are_closed":   socketsAreClosed,
		"knows_new_users":      knowsNewUsers,
	})
}

func jobCompletes(t *testing.T, c *cluster) {
	c.file("ok.sbatch", `#!/bin/bash
#SBATCH --nodes=2
#SBATCH --job-name=ok
srun hostname | wc -l
echo "Batch 1 Loss: 3.5, Speed: 2.0 samples/sec, lr: 0.001"
echo "argument $1"
`)
	r := c.run("run", "ok.sbatch", "--epochs")
	want := "2\nBatch 1 Loss: 3.5, Speed: 2.0 samples/sec, lr: 0.001\nargument --epochs\n"
	if r.code != 0 || r.stdout != want {
		t.Errorf("exit code %d, got %q, want %q", r.code, r.stdout, want)
	}
	for _, word := range []string{"is submitted: ok, 2 nodes of gpu", "completed"} {
		if !strings.Contains(r.stderr, word) {
			t.Errorf("stderr lacks %q:\n%s", word, r.stderr)
		}
	}
	id := jobOf(t, r.stderr)
	if j := c.show(id); j.State != "COMPLETED" || j.Progress.Batch != 1 || j.Progress.Loss != 3.5 || len(j.Attempts) != 1 {
		t.Errorf("job show: %+v", j)
	}
	if got := c.must("job", "logs", id); got != want {
		t.Errorf("job logs: %q", got)
	}
}

// jobOf is the ID of the job that was submitted.
func jobOf(t *testing.T, stderr string) string {
	t.Helper()
	said := regexp.MustCompile(` job (\d+) is submitted`).FindStringSubmatch(stderr)
	if said == nil {
		t.Fatalf("no job in:\n%s", stderr)
	}
	return said[1]
}

func jobFails(t *testing.T, c *cluster) {
	c.file("fail.sbatch", "#!/bin/bash\n#SBATCH --error=fail.err\necho out; echo err >&2; exit 13\n")
	r := c.run("run", "-o", "json", "fail.sbatch")
	var j shownJob
	if err := json.Unmarshal([]byte(r.stdout), &j); err != nil {
		t.Fatal(err)
	}
	if r.code != 1 || j.State != "FAILED" || j.ExitCode != 13 {
		t.Errorf("exit code %d, %+v", r.code, j)
	}
	for _, line := range []string{"out\n", "err\n", "failed with exit code 13"} {
		if !strings.Contains(r.stderr, line) {
			t.Errorf("stderr lacks %q:\n%s", line, r.stderr)
		}
	}
	if got := c.must("job", "logs", "--err", fmt.Sprint(j.ID)); got != "err\n" {
		t.Errorf("job logs --err: %q", got)
	}
	c.file("raise.sbatch", "#!/bin/bash\n#SBATCH --output=raise.out\nsrun python3 -c 'import nosuchmodule'\n")
	r = c.run("run", "raise.sbatch")
	// srun says how the task ended before or after what the task has said.
	why := regexp.MustCompile(`\n  because it could not import a module: ModuleNotFoundError: No module named 'nosuchmodule' \(raise\.out:[34]\)\n`)
	if r.code != 1 || !why.MatchString(r.stderr) {
		t.Errorf("exit code %d\n%s\nwant %s", r.code, r.stderr, why)
	}
}

func jobAsksForTooMuch(t *testing.T, c *cluster) {
	c.file("big.sbatch", "#!/bin/bash\n#SBATCH --job-name=big\n#SBATCH --nodes=100\necho\n")
	r := c.run("run", "big.sbatch")
	const want = `big.sbatch:3:9: error: --nodes=100, but partition gpu has 3 nodes [script/nodes]
    #SBATCH --nodes=100
            ^
  hint: ask for at most 3, or raise MaxCount in the cluster file and run ` + "`muster up` again\n" +
		"muster: nothing is submitted; with --force before the script, it is\n"
	if r.code != 1 || r.stdout != "" || r.stderr != want {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if list := c.must("job", "list"); strings.Contains(list, " big ") {
		t.Errorf("it was submitted:\n%s", list)
	}
}

// jobIsForced: a check's errors stop a script, and --force does not mind them.
func jobIsForced(t *testing.T, c *cluster) {
	c.file("late.sbatch", "#!/bin/bash\nset -e\n#SBATCH --job-name=late\nls /fsx9 2>/dev/null || echo done\n")
	r := c.run("run", "late.sbatch")
	if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "late.sbatch:3:1: error: sbatch does not read this line") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	r = c.run("run", "--force", "late.sbatch")
	if r.code != 0 || r.stdout != "done\n" || !strings.Contains(r.stderr, "\nlate.sbatch: warning: the job has no time limit [script/time]\n") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	c.file("away.sbatch", "#!/bin/bash\n#SBATCH --output=away/%j.out\necho\n")
	if r := c.run("job", "submit", "away.sbatch"); r.code != 1 || !strings.Contains(r.stderr, "there is no directory away") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if strings.Contains(r.stderr, "nothing is submitted") {
		t.Errorf("it says that nothing is submitted:\n%s", r.stderr)
	}
}

func jobIsReadFromStdin(t *testing.T, c *cluster) {
	cmd := c.command("run", "-", "world")
	cmd.Stdin = strings.NewReader("#!/bin/bash\n#SBATCH --time=5\necho hello $1\n")
	if out, err := cmd.Output(); err != nil || string(out) != "hello world\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func jobIsCancelled(t *testing.T, c *cluster) {
	c.file("long.sbatch", "#!/bin/bash\necho ready\nsleep infinity\n")
	id := strings.TrimSpace(c.must("job", "submit", "long.sbatch"))
	f := c.follow("job", "logs", "-f", id)
	f.until(t, "ready")
	c.must("job", "cancel", id)
	if _, code := f.end(); code != 0 || !strings.Contains(f.stderr.String(), "was cancelled") {
		t.Errorf("exit code %d\n%s", code, &f.stderr)
	}
	if j := c.show(id); j.State != "CANCELLED" {
		t.Errorf("job show: %+v", j)
	}
}

func jobIsNoLongerWatched(t *testing.T, c *cluster) {
	c.file("long.sbatch", "#!/bin/bash\necho ready\nsleep infinity\n")
	f := c.follow("run", "long.sbatch")
	f.until(t, "ready")
	if err := syscall.Kill(-f.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_, code := f.end()
	id := jobOf(t, f.stderr.String())
	if code != 130 || !strings.Contains(f.stderr.String(), "`muster --cluster whole job logs -f "+id+"` follows it again") {
		t.Errorf("exit code %d\n%s", code, &f.stderr)
	}
	if j := c.show(id); j.State != "RUNNING" {
		t.Errorf("job show: %+v", j)
	}
	c.must("job", "cancel", id)
}

func jobLosesItsNode(t *testing.T, c *cluster) {
	c.file("resume.sbatch", `#!/bin/bash
#SBATCH --nodes=2 --exclusive
echo "attempt ${SLURM_RESTART_COUNT:-0}"
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { echo "ready"; sleep infinity; }
`)
	f := c.follow("run", "resume.sbatch")
	f.until(t, "ready")
	var list struct {
		Jobs []struct {
			ID int `json:"id"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(c.must("job", "list", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	job := list.Jobs[len(list.Jobs)-1]
	node := c.show(fmt.Sprint(job.ID)).Nodes[1]
	c.must("node", "kill", node)
	rest, code := f.end()
	if code != 0 || len(rest) == 0 || rest[len(rest)-1] != "attempt 1" {
		t.Errorf("exit code %d, output %q", code, rest)
	}
	if want := "went back into the queue because node " + node + " failed"; !strings.Contains(f.stderr.String(), want) {
		t.Errorf("stderr lacks %q:\n%s", want, &f.stderr)
	}
	if j := c.show(fmt.Sprint(job.ID)); j.State != "COMPLETED" || len(j.Attempts) != 2 || j.Attempts[0].State != "NODE_FAIL" {
		t.Errorf("job show: %+v", j)
	}
}
