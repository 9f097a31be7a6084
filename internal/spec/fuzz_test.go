package spec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// FuzzParse holds what Parse promises for any bytes: a cluster or errors, never
// both and never a panic; a place for each problem; and nothing in the model
// that could break a line of slurm.conf or leave a directory.
func FuzzParse(f *testing.F) {
	f.Add([]byte(base(f)))
	f.Add([]byte(read(f, "testdata/bad/guide.yaml")))
	for _, s := range []string{
		"", "\t", "a: &a [*a]", "<<: {<<: {Region: x}}", "? [x]\n: y", "Region: !!binary eA==", "[global]\n",
		"\xef\xbb\xbfRegion: x", "\xff\xfe", "Region: 'x\n", "Region: {", "SharedStorage: [{MountDir: \"/a\\nb\"}]",
		"Scheduling: {SlurmSettings: {CustomSlurmSettings: [{A: 'b c', D: 2}]}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := spec.Parse("cluster.yaml", data)
		if (c == nil) != problems.HasErrors() {
			t.Fatalf("cluster %v, errors %v", c != nil, problems.HasErrors())
		}
		checkProblems(t, problems)
		if c != nil {
			checkModel(t, c)
		}
	})
}

// FuzzOpenText holds that a file can be opened for AWS at any level and looked at
// by rules, whatever stands in it: keys at wrong places included, which are put
// where they belong.
func FuzzOpenText(f *testing.F) {
	for _, s := range []string{
		base(f), read(f, "testdata/bad/guide.yaml"), "# muster: schema=3.11\nImage: {Os: alinux2}\n", "Region:\tx\n",
		"DevSettings: &d {NodePackage: p}\nCookbook: *d\n", "Scheduling: &s {SlurmQueues: [{Efa: {MaxCount: 2}}]}\nSlurmSettings: *s\n",
		"SlurmQueues: [&q {Name: a, Tagz: [*b]}, *q]\n", "Region: !!int 1:30\n", "Tags: [{Key: 0o17, Value: 1e3}]\n", "? Region\n: |\n a\n",
		"Scheduling: {Scheduler: awsbatch, AwsBatchQueues: []}\n", "SubnetId: a\nHeadNode: {SubnetId: b}\n",
	} {
		f.Add([]byte(s), uint8(0))
	}
	levels := spec.Levels()
	f.Fuzz(func(t *testing.T, data []byte, level uint8) {
		l := levels[int(level)%len(levels)]
		file := spec.OpenText("cluster.yaml", data, spec.Options{AWS: true, Level: l})
		if (file.Cluster == nil) != file.Problems.HasErrors() || file.Level() != l {
			t.Fatalf("cluster %v, errors %v, level %v", file.Cluster != nil, file.Problems.HasErrors(), file.Level())
		}
		checkProblems(t, file.Problems)
		root, ok := file.Root()
		if !ok {
			return
		}
		for _, key := range spec.Keys(l) {
			visit(root, strings.Split(key.Path, "."))
		}
	})
}

// visit looks at a key, in the first entries of each list around it.
func visit(v spec.View, steps []string) {
	name, list := strings.CutSuffix(steps[0], "[]")
	v = v.Key(name)
	_, _, _, _, _ = v.Text(), v.Int(), v.Bool(), v.Line(), v.Given()
	if len(steps) == 1 {
		return
	}
	if !list {
		visit(v, steps[1:])
		return
	}
	items := v.Items()
	for _, item := range items[:min(len(items), 2)] {
		visit(item, steps[1:])
	}
}

func checkProblems(t *testing.T, problems *diag.List) {
	t.Helper()
	for _, d := range problems.All() {
		if d.Code == "" || d.Message == "" || d.File == "" || d.Line < 0 || d.Column < 0 {
			t.Errorf("an incomplete problem: %+v", d)
		}
	}
	if problems.Locate != nil {
		problems.Locate("Scheduling.SlurmQueues[0].ComputeResources[3].Name")
		problems.Locate("].[x[9")
	}
	text(t, problems)
}

func checkModel(t *testing.T, c *spec.Cluster) {
	t.Helper()
	for _, q := range c.Scheduling.Queues {
		checkWord(t, q.Name)
		checkSettings(t, q.Custom)
		for _, r := range q.ComputeResources {
			checkWord(t, r.Name)
			checkSettings(t, r.Custom)
			if r.MinCount < 0 || r.MaxCount < r.MinCount || r.MaxCount < 1 || len(r.InstanceTypes) == 0 {
				t.Errorf("a compute resource that cannot be: %+v", r)
			}
		}
	}
	checkSettings(t, c.Scheduling.Slurm.Custom)
	for _, s := range c.SharedStorage {
		if !strings.HasPrefix(s.MountDir, "/") || s.MountDir == "/" || strings.ContainsAny(s.MountDir, "\n\r\x00") {
			t.Errorf("mount %q", s.MountDir)
		}
		for _, r := range s.Repositories {
			if r.Bucket == "" || r.Dir != s.MountDir && !strings.HasPrefix(r.Dir, s.MountDir+"/") {
				t.Errorf("repository %+v of %s", r, s.MountDir)
			}
		}
	}
}

func checkWord(t *testing.T, s string) {
	t.Helper()
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		t.Errorf("the name %q", s)
	}
}

func checkSettings(t *testing.T, settings []spec.Setting) {
	t.Helper()
	for _, s := range settings {
		line := fmt.Sprintf("%s=%s", s.Key, s.Value)
		if strings.ContainsAny(line, "\n\r\x00#") || strings.HasSuffix(line, `\`) || strings.ContainsAny(s.Key, " =\t") {
			t.Errorf("the setting %q", line)
		}
	}
}

// FuzzParseWorkload holds the same for muster.yaml: its directories are on the
// cluster's mounts.
func FuzzParseWorkload(f *testing.F) {
	f.Add([]byte(workload))
	for _, s := range []string{
		"", "Models: [{Name: a}]\nDirectories: [{Path: '/data/{model}/../x', Mode: 0775}]", "Directories: [{Path: /data/./x}]",
		"BurnIn: {}", "BurnIn: {Suites: [gpu, gpu, network], Minutes: 1e3, DiagnosisLevel: 4}", "BurnIn: {Queues: &q [a], Suites: *q}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, problems := spec.ParseWorkload("muster.yaml", data, mounts)
		if (w == nil) != problems.HasErrors() {
			t.Fatalf("workload %v, errors %v", w != nil, problems.HasErrors())
		}
		checkProblems(t, problems)
		if w == nil {
			return
		}
		if b := w.BurnIn; b != nil && (len(b.Suites) == 0 || b.Limit() < time.Minute || b.Limit() > 4*time.Hour || b.DiagnosisLevel < 1 || b.DiagnosisLevel > 4) {
			t.Errorf("the burn-in %+v", *b)
		}
		seen := map[string]bool{}
		for _, d := range w.Expanded() {
			below := d.Path + "/"
			if !strings.HasPrefix(below, "/data/") && !strings.HasPrefix(below, "/logs/") || strings.Contains(below, "/../") ||
				d.Mode > 0o7777 || strings.ContainsAny(d.Path, "\n\x00{}") || seen[d.Path] {
				t.Errorf("the directory %+v", d)
			}
			seen[d.Path] = true
		}
	})
}
