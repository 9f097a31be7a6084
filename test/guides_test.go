package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestGuides types the guides' commands on a cluster made of the first guide's file, and compares what comes out.
func TestGuides(t *testing.T) {
	t.Parallel()
	needContainers(t)
	needFiles(t, "/usr/bin/aws", "/usr/bin/tree", "/usr/bin/watch")
	c := unmade(t, "")
	c.file("cluster.yaml", c.guidesFile())
	c.copyIn("examples/guide-80/muster.yaml", "muster.yaml")
	c.must("up", "--no-test", "cluster.yaml")
	c.readersOwn()
	for _, g := range guides(t) {
		r := &reader{session: filepath.Join(c.dir, "session-"+strconv.Itoa(g.Guide))}
		for _, s := range g.Steps {
			t.Run(strconv.Itoa(g.Guide)+" "+s.At, func(t *testing.T) { r.takes(c.as(t), s) })
		}
	}
}

// guidesFile is the first guide's cluster file after --fix, with what the fixes leave mended, and the second guide's queue and storage.
func (c *cluster) guidesFile() string {
	c.t.Helper()
	c.copyIn("internal/spec/testdata/bad/guide.yaml", "cluster.yaml")
	fix := exec.Command(c.muster, "check", "--fix", "cluster.yaml")
	fix.Dir = c.dir
	if out, err := fix.CombinedOutput(); fix.ProcessState.ExitCode() != 1 { // what it cannot mend is mended below
		c.t.Fatalf("check --fix: %v\n%s", err, out)
	}
	text := c.read("cluster.yaml")
	for _, change := range [][2]string{
		{"Os: alinux2 ", "Os: alinux2023 "},
		{"Iam:\n  AdditionalIamPolicies:            # 컴퓨트 노드 추가 IAM 정책\n    - Policy: arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess  # S3 읽기 권한\n", `    - Name: compute-gpu
      Networking: {SubnetIds: [subnet-yyyyyyyyy]}
      ComputeResources:
        - {Name: g5, InstanceType: g5.8xlarge, MinCount: 0, MaxCount: 4, Efa: {Enabled: true}}
`},
		{"\nSharedStorage:\n", `
SharedStorage:
  - {MountDir: /fsx, Name: fsx, StorageType: FsxOpenZfs, FsxOpenZfsSettings: {VolumeId: fsvol-0123456789abcdef0}}
  - {MountDir: /lustre, Name: lustre, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200, DeploymentType: SCRATCH_2}}
`},
	} {
		if strings.Count(text, change[0]) != 1 {
			c.t.Fatalf("--fix has left no %q:\n%s", change[0], text)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text
}

// copyIn copies a file of this repository into the working directory.
func (c *cluster) copyIn(from, to string) {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join("..", from))
	if err != nil {
		c.t.Fatal(err)
	}
	c.file(to, string(data))
}

// readersOwn makes what the guides take for granted: a program to train with, the venv that runs it, and an image that has it.
func (c *cluster) readersOwn() {
	c.t.Helper()
	c.file("train.py", "import sys\nprint(*sys.argv[1:])\n")
	if r := c.types("python3 -m venv --without-pip venv"); r.code != 0 {
		c.t.Fatal(r.stderr)
	}
	tree, err := imageTree()
	if err != nil {
		c.t.Fatal(err)
	}
	c.file("tree.tar", string(tarOf(c.t, tree)))
	own := filepath.Join(c.dir, "own")
	if err := os.MkdirAll(filepath.Join(own, "usr/bin"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := installWithLibraries("bash", own); err != nil {
		c.t.Fatal(err)
	}
	for name, text := range map[string]string{
		"python":   "echo \"$1 on $(hostname) with $CUDA_VISIBLE_DEVICES\"\n",
		"torchrun": "echo \"$@\"\nuntil [ -e /lustre/seen ]; do sleep 0.1; done\n",
	} {
		if err := os.WriteFile(filepath.Join(own, "usr/bin", name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
}

// reader goes through a guide: one shell's variables and directory last from step to step, in the file session.
type reader struct{ session string }

// takes does a step, and holds what the table says of it. A step that is open fails when it comes out.
func (r *reader) takes(c *cluster, s guideStep) {
	c.t.Helper()
	if s.File != "" {
		c.copyIn(s.Of, s.File)
	}
	if s.Has != "" {
		c.await(s.Has, patience, func() bool { return r.shell(c, s.On, s.Has).Run() == nil })
	}
	var wrong []string
	if s.Types != "" && s.Gives != nil {
		out, code := r.types(c, s)
		if s.Until == "" && code != s.Code {
			wrong = append(wrong, "exit code "+strconv.Itoa(code)+"\n"+out)
		}
		wrong = append(wrong, differs(out, s.Gives, s.Never)...)
	}
	if s.Instead != "" {
		done := c.types(". venv/bin/activate; " + s.Instead)
		if done.code != s.Ends {
			wrong = append(wrong, s.Instead+": exit code "+strconv.Itoa(done.code)+"\n"+done.stdout+done.stderr)
		}
		wrong = append(wrong, differs(done.stdout+done.stderr, s.Shows, nil)...)
	}
	switch {
	case s.Open != "" && len(wrong) == 0:
		c.t.Errorf("it is open (%s), and comes out: take the word away", s.Open)
	case s.Open == "" && len(wrong) > 0:
		c.t.Error(strings.Join(wrong, "\n"))
	}
}

// differs says which lines are missing, or are there and may not be, and shows what came out.
func differs(out string, lines, never []string) []string {
	var wrong []string
	rest := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for _, want := range lines {
		is := regexp.MustCompile(want)
		i := 0
		for i < len(rest) && !is.MatchString(rest[i]) {
			i++
		}
		if i == len(rest) {
			wrong = append(wrong, "no line, or not in this order: "+want)
			continue
		}
		rest = rest[i+1:]
	}
	for _, not := range never {
		if regexp.MustCompile(not).MatchString(out) {
			wrong = append(wrong, "it says "+not)
		}
	}
	if len(wrong) > 0 {
		wrong = append(wrong, out)
	}
	return wrong
}

// shell is a shell of the session on a machine of the cluster, where a script is typed. The reader's venv is active.
func (r *reader) shell(c *cluster, node, script string) *exec.Cmd {
	line := "muster exec "
	if node != "" {
		line += "--node " + node + " "
	}
	around := `trap 'code=$?; { declare -px; declare -p JOB_ID NEW_TOKEN; printf "cd %q\n" "$PWD"; } >` + r.session + ` 2>/dev/null; exit $code' EXIT
[ ! -e ` + r.session + ` ] || . ` + r.session + "\n" + script
	cmd := c.typed(". venv/bin/activate; exec 2>&1; " + line + `-- bash -c "$SCRIPT"`)
	cmd.Env = append(cmd.Env, "SCRIPT="+around, "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

var submitted = regexp.MustCompile(`(?m)^Submitted batch job (\d+)$`)

// types types a step, and returns what came out and its exit code. What goes on for ever is ended as Ctrl-C on a terminal does it.
func (r *reader) types(c *cluster, s guideStep) (string, int) {
	c.t.Helper()
	out := &screen{}
	cmd := r.shell(c, s.On, s.Types)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if s.Until != "" {
		is := regexp.MustCompile("(?m)" + s.Until)
		defer func() { c.t.Log(out.String()) }()
		c.await(s.Types+" shows "+s.Until, patience, func() bool { return is.MatchString(out.String()) })
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			c.t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the table has the exit code
	text := out.String()
	if m := submitted.FindStringSubmatch(text); m != nil {
		if r.shell(c, "", "export JOB_ID="+m[1]).Run() != nil {
			c.t.Error("the session is lost")
		}
	}
	return text, cmd.ProcessState.ExitCode()
}

// screen is what a terminal has shown.
type screen struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

// control is what moves the cursor or colours, which watch uses in place of spaces and new lines.
var (
	newLine = regexp.MustCompile(`\x1b\[\d+;\d+H|\x1b\[\d+d|\r`)
	control = regexp.MustCompile(`\x1b[\[(][0-9;?]*[A-Za-z]`)
)

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return control.ReplaceAllString(newLine.ReplaceAllString(s.all.String(), "\n"), " ")
}
