// Package placetest is the suite that every place passes, and a place for tests that passes
// it: one that cli does not know.
package placetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/say/fault"
)

// Suite tries a place by the command line of muster, which has nothing else to tell places
// apart by than the contract: a cluster from nothing to nothing.
type Suite struct {
	// Place is what --on calls it, File a cluster file that it can make.
	Place, File string
	// Other is another place, which must not make a cluster of the same name.
	Other string
	// Dir is an empty directory to work in.
	Dir string
	// Muster is a command of muster's in that directory, with a home of the test's own.
	Muster func(args ...string) *exec.Cmd
}

// name is the cluster's.
const name = "suite"

// Run tries the place.
func (s Suite) Run(t *testing.T) {
	for file, text := range map[string]string{
		"cluster.yaml": s.File,
		"bad.yaml":     strings.Replace(s.File, "SlurmQueues:", "SlurmQueue:", 1),
		"job.sbatch":   "#!/bin/bash\n#SBATCH --nodes=1 --time=5 --hold\nhostname\n",
	} {
		if err := os.WriteFile(filepath.Join(s.Dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := suite{s, t}
	r.nothing()
	r.refused()
	r.up()
	r.used()
	r.down()
}

type suite struct {
	Suite
	t *testing.T
}

// run runs muster and returns what it answers and tells, and its exit code.
func (s suite) run(input string, args ...string) (answer, told string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := s.Muster(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must is run for what has to end with a code; it returns what was answered.
func (s suite) must(code int, args ...string) string {
	s.t.Helper()
	answer, told, got := s.run("", args...)
	if got != code {
		s.t.Fatalf("muster %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, answer, told)
	}
	return answer
}

// fails holds that a command fails with a code for programs.
func (s suite) fails(exit int, code string, args ...string) {
	s.t.Helper()
	answer, told, got := s.run("", append(args, "-o", "json")...)
	var e struct{ Code string }
	lines := strings.Split(strings.TrimSpace(told), "\n")
	_ = json.Unmarshal([]byte(lines[len(lines)-1]), &e) // a line that is not JSON has no code
	if answer != "" {
		s.t.Errorf("muster %s: what is refused has no answer: %s", strings.Join(args, " "), answer)
	}
	if got != exit || e.Code != code {
		s.t.Errorf("muster %s: exit code %d and code %q, want %d and %q\n%s", strings.Join(args, " "), got, e.Code, exit, code, told)
	}
}

// clusters are those of a status: state by place and name.
func (s suite) clusters() map[string]string {
	s.t.Helper()
	answer, told, _ := s.run("", "status", "-o", "json")
	var all struct {
		Clusters []struct{ Name, Place, State string }
	}
	if err := json.Unmarshal([]byte(answer), &all); err != nil {
		s.t.Fatalf("status: %v\n%s\n%s", err, answer, told)
	}
	states := map[string]string{}
	for _, c := range all.Clusters {
		states[c.Place+" "+c.Name] = c.State
	}
	return states
}

// none holds that there is no cluster.
func (s suite) none(when string) {
	s.t.Helper()
	if all := s.clusters(); len(all) > 0 {
		s.t.Fatalf("%s there is %v", when, all)
	}
}

// nothing is there at first.
func (s suite) nothing() {
	s.t.Helper()
	s.none("at first")
	s.fails(fault.ExitProblem, fault.CodeUnknown, "status", name, "--on", s.Place)
	s.fails(fault.ExitUsage, fault.CodeUsage, "status", "--on", "nowhere")
}

// refused makes nothing: files that are wrong.
func (s suite) refused() {
	s.t.Helper()
	s.fails(fault.ExitUsage, fault.CodeUsage, "up", "cluster.yaml", "--on", "")
	s.must(fault.ExitProblem, "up", "bad.yaml", "--on", s.Place, "--yes")
	s.must(fault.ExitProblem, "up", "missing.yaml", "--on", s.Place, "--yes")
	s.none("after files that are wrong")
}

// up makes the cluster, and finds nothing to do the second time.
func (s suite) up() {
	s.t.Helper()
	for range 2 {
		var answer struct {
			Cluster string
			Steps   []struct{ Name string }
		}
		text := s.must(fault.ExitDone, "up", "cluster.yaml", "--on", s.Place, "--cluster", name, "--yes", "--no-test", "-o", "json")
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Cluster != name || len(answer.Steps) == 0 {
			s.t.Fatalf("up answers %s (%v)", text, err)
		}
	}
	if all := s.clusters(); len(all) != 1 || all[s.Place+" "+name] != "up" {
		s.t.Fatalf("status knows %v", all)
	}
	if text, told, _ := s.run("", "status", name); !strings.HasPrefix(text, name+" ") {
		s.t.Errorf("status says %s\n%s", text, told)
	}
	s.must(fault.ExitUsage, "up", "cluster.yaml", "--on", s.Place, "--cluster", name, "--no-test", "--verify")
	if _, told, code := s.run("", "up", "cluster.yaml", "--on", s.Other, "--cluster", name, "--yes"); code == 0 || !strings.Contains(told, "--cluster") {
		s.t.Errorf("there is one of the name at %s, too: %s", s.Other, told)
	}
}

// used runs programs on it and jobs, and stops and starts its fleet.
func (s suite) used() {
	s.t.Helper()
	s.must(7, "exec", "--", "sh", "-c", "exit 7")
	if text := s.must(0, "exec", "--", "echo", "two words", "$HOME"); text != "two words $HOME\n" {
		s.t.Errorf("exec passes on %q", text)
	}
	if text, told, code := s.run("our input", "exec", "cat"); text != "our input" || code != 0 {
		s.t.Errorf("exec passes input on as %q\n%s", text, told)
	}
	for _, look := range [][]string{{"nodes"}, {"job", "list"}} {
		if text := s.must(0, append(look, "-o", "json")...); !json.Valid([]byte(text)) {
			s.t.Errorf("%v answers %s", look, text)
		}
	}
	if text := strings.TrimSpace(s.must(0, "job", "submit", "--force", "job.sbatch")); text != "1" {
		s.t.Errorf("the first job is %q", text)
	}
	if text := s.must(0, "ssh", "--dry-run"); !strings.HasPrefix(text, "ssh ") {
		s.t.Errorf("ssh would run %s", text)
	}
	s.must(0, "fleet", "stop")
	s.must(0, "fleet", "start")
}

// down takes it down, and there is nothing left.
func (s suite) down() {
	s.t.Helper()
	s.fails(fault.ExitUsage, fault.CodeQuestion, "down", name, "--delete-data")
	s.must(0, "down", name, "--delete-data", "--yes", "-o", "json")
	s.none("after all was taken down")
	s.fails(fault.ExitProblem, fault.CodeUnknown, "status", name, "--on", s.Place)
}
