package test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/muster-hpc/muster/test/cloud"
)

// telling is a program that saves a checkpoint, says the checksums of its secrets, in each run of its job, and waits. No command
// has a value.
const telling = `#!/bin/bash
mkdir -p checkpoints/step-1
cp mark checkpoints/step-1/mark
sum() { printf %%s "$1" | sha256sum | cut -c1-64; }
echo "run ${SLURM_RESTART_COUNT:-0} rank $SLURM_PROCID has $(sum "$ONE"), $(sum "$TWO") and $(sum "$THREE")"
until [ -e %s ]; do sleep 0.1; done
`

// TestSecrets gives a job three secrets and looks for them everywhere: its ranks have them, on all nodes and again when it
// is queued again, after the controller has died; nobody else does, and in the end nothing is left.
func TestSecrets(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(2))
	s := c.secretJob()
	s.told(0)
	s.host = strings.TrimSpace(c.head("squeue", "--noheader", "--jobs="+s.id, "--Format=BatchHost:100"))
	s.nowhere("secrets/" + s.id + ".json")
	s.nobodyElse()
	c.killService("controller")
	c.head("scontrol", "requeue", s.id)
	s.told(1)
	c.file("go", "")
	c.await("the job completes", patience, func() bool { return c.show(s.id).State == "COMPLETED" })
	kept := c.path("state", "secrets")
	c.await("nothing is kept", patience, func() bool {
		entries, err := os.ReadDir(kept)
		return err == nil && len(entries) == 0
	})
	s.refused("has ended", s.id)
	s.nowhere("")
}

// userSecrets: on an ordinary user's cluster, too, a job has its secrets, and they are in one file.
func userSecrets(t *testing.T, c *cluster) {
	s := c.secretJob()
	s.told(0)
	s.host = strings.TrimSpace(c.head("squeue", "--noheader", "--jobs="+s.id, "--Format=BatchHost:100"))
	s.nowhere("secrets/" + s.id + ".json")
	c.file("go", "")
	c.await("the job completes", patience, func() bool { return c.show(s.id).State == "COMPLETED" })
	s.refused("has ended", s.id)
}

// secretJob is a job with a secret of a file, one of the environment, and a key of one of Secrets Manager, which moto is.
type secretJob struct {
	*cluster
	id              string
	one, two, three string
	// mark is no secret: it is where each search must find it.
	mark string
	host string
}

func (c *cluster) secretJob() *secretJob {
	c.t.Helper()
	s := &secretJob{cluster: c, one: "hf_" + rand.Text(), two: "wb_" + rand.Text(), three: "sm_" + rand.Text(), mark: "mark_" + rand.Text()}
	token := filepath.Join(filepath.Dir(c.home), "token") // where no machine of the cluster looks
	if err := os.WriteFile(token, []byte(s.one+"\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	c.file("mark", s.mark) // which its checkpoint has
	c.file("tell.sh", fmt.Sprintf(telling, filepath.Join(c.dir, "go")))
	if err := os.Chmod(filepath.Join(c.dir, "tell.sh"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	vault := cloud.Start(c.t, cloud.Options{Region: "us-east-1"})
	_, err := secretsmanager.NewFromConfig(vault.Config()).CreateSecret(c.t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("team/keys"), SecretString: aws.String(fmt.Sprintf(`{"other":"x","three":%q}`, s.three)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.file("tell.yaml", fmt.Sprintf("Job: tell\nNodes: 2\nRanks: 1\nLauncher: srun\nScript: tell.sh\nTime: 30\n"+
		"Secrets:\n  ONE: {File: %s}\n  TWO: {Environment: GIVEN}\n  THREE: {SecretsManager: team/keys, Key: three}\n", token))
	cmd := c.command("job", "submit", "tell.yaml")
	cmd.Env = append(append(cmd.Env, vault.Env()...), "AWS_REGION=eu-west-1", "GIVEN="+s.two, "MIRROR=https://user:"+s.one+"@localhost")
	var said bytes.Buffer
	cmd.Stderr = &said
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if err := s.watched(cmd); err != nil {
		c.t.Fatalf("submit: %v\n%s", err, &said)
	}
	s.id = strings.TrimSpace(out.String())
	return s
}

// watched waits for the submission, and looks at the command lines of all processes meanwhile.
func (s *secretJob) watched(submission *exec.Cmd) error {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- submission.Wait() }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for seen := false; ; {
		select {
		case err := <-ended:
			if !seen {
				s.t.Error("no look came while it was submitted")
			}
			return err
		case <-look.C:
		}
		for _, p := range machineProcesses() {
			line := strings.Join(p.args, " ")
			seen = seen || strings.Contains(line, "tell.yaml")
			s.lacks("the command line of a process while it is submitted", line)
		}
	}
}

// told waits until both ranks of a run have said what they have.
func (s *secretJob) told(run int) {
	s.t.Helper()
	log := "logs/tell-" + s.id + ".out"
	ended := fmt.Sprintf("attempt %d, ended", run+1) // the run before says it, too, if Slurm gives it the time
	for rank := range 2 {
		want := fmt.Sprintf("run %d rank %d has %x, %x and %x\n", run, rank, sha256.Sum256([]byte(s.one)), sha256.Sum256([]byte(s.two)), sha256.Sum256([]byte(s.three)))
		s.await(want, 2*patience, func() bool { return strings.Contains(s.read(log), want) || strings.Contains(s.read(log), ended) })
		if text := s.read(log); !strings.Contains(text, want) {
			s.t.Fatalf("the job says\n%s", text)
		}
	}
}

// nowhere looks for the secrets in all that is written down of the cluster, the job and its processes, and finds them in
// one file at the most.
func (s *secretJob) nowhere(but string) {
	s.t.Helper()
	for _, place := range [][]string{{"exec", "--"}, {"exec", "--node", s.host, "--"}} {
		s.must(append(place, "sh", "-c", "echo "+s.mark+" > /tmp/mark")...)
	}
	s.file("mark", s.mark)
	patterns := strings.Join([]string{s.mark, s.one, s.two, s.three}, "\n") + "\n" + base64.StdEncoding.EncodeToString([]byte(s.one)) + "\n"
	s.found("of the cluster", but, patterns, "nsenter", "--target="+strconv.Itoa(s.anchor()), "--mount", "--",
		"sh", "-c", `cd "$1" && exec grep -rlaF --devices=skip -f - --exclude-dir=bin anchor.json cluster.json etc links log nodes run s3 shared state mnt/*/upper`, "sh", s.path())
	if out := s.found("of the working directory", "", patterns, "grep", "-rlaF", "-f", "-", s.dir); !strings.Contains(out, "/checkpoints/step-1/mark") {
		s.t.Errorf("grep does not find what the job has saved: it found %q", out)
	}
	for _, place := range [][]string{{"exec", "--"}, {"exec", "--node", s.host, "--"}} {
		of := s.command(append(place, "grep", "-rlaF", "--devices=skip", "-f", "-", "/run", "/tmp", "/var/spool", "/var/log", "/dev/shm")...)
		s.found("of a machine", "", patterns, of.Args...)
	}
	for _, p := range machineProcesses() {
		s.lacks("the command line of a process", strings.Join(p.args, " "))
	}
	// Behind each command is what its answer has for certain.
	for _, w := range [][2]string{
		{"scontrol show job --details " + s.id, "JobName=tell"}, {"scontrol write batch_script " + s.id + " -", "#SBATCH"},
		{"sacct --jobs=" + s.id + " --format=ALL --parsable", "|tell|"}, {"sacct --jobs=" + s.id + " --batch-script", "#SBATCH"},
		{"sacct --jobs=" + s.id + " --env-vars", "for " + s.id}, {"cat " + s.dir + "/logs/tell.*.sbatch", "#SBATCH"},
	} {
		s.await(w[0]+" has "+w[1], patience, func() bool { // slurmdbd hears of a job a little later
			r := s.run("exec", "--", "sh", "-c", w[0])
			s.lacks(w[0], r.stdout+r.stderr)
			return r.code == 0 && strings.Contains(r.stdout, w[1])
		})
	}
}

// found looks by a grep that reads the patterns.
func (s *secretJob) found(where, but, patterns string, line ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), line[0], line[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, s.command().Env, strings.NewReader(patterns)
	out, _ := cmd.Output() // grep ends with 1 where it finds nothing, and with 2 where a file went meanwhile
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		if filepath.Base(file) != "mark" && (but == "" || file != "state/"+but) {
			s.t.Errorf("a secret is in %s %s", file, where)
		}
	}
	if !strings.Contains(string(out), "mark") || !strings.Contains(string(out), but) {
		s.t.Errorf("grep does not find what is there %s: it found %q", where, out)
	}
	return string(out)
}

func (s *secretJob) lacks(what, text string) {
	s.t.Helper()
	if strings.Contains(text, s.one) || strings.Contains(text, s.two) || strings.Contains(text, s.three) {
		s.t.Errorf("a secret is in %s", what)
	}
}

// nobodyElse asks for the secrets as others may.
func (s *secretJob) nobodyElse() {
	s.t.Helper()
	s.refused("is not yours", s.id, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
	s.refused("there is no job", "99999")
	info, err := os.Stat(s.path("state", "secrets", s.id+".json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		s.t.Errorf("what is kept: %v, %v", info, err)
	}
	if info, err = os.Stat(s.path("state", "secrets")); err != nil || info.Mode().Perm() != 0o700 {
		s.t.Errorf("where it is kept: %v, %v", info, err)
	}
}

// refused asks on a node as a job would.
func (s *secretJob) refused(why, id string, as ...string) {
	s.t.Helper()
	line := append([]string{"exec", "--node", s.host, "--", "env", "SLURM_JOB_ID=" + id}, as...)
	r := s.run(append(line, "/opt/muster/bin/muster", "agent", "secrets", "ONE")...)
	if r.code != 1 || !strings.Contains(r.stderr, why) || r.stdout != "" {
		s.t.Errorf("asked for job %s by %q: exit code %d\n%s%s", id, as, r.code, r.stdout, r.stderr)
	}
}
