package jobfile_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func text(t testing.TB, list *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, list, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t testing.TB, data string) *jobfile.Job {
	t.Helper()
	j, problems := jobfile.Parse("job.yaml", "/home/u/llama", []byte(data))
	if j == nil || problems.Len() > 0 {
		t.Fatal(text(t, problems))
	}
	return j
}

const full = `Job: llama-70b
Nodes: 11
Spares: 1
Ranks: 4
Queue: gpu
Constraint: p5e.48xlarge
Account: research
QoS: low
Image: train.sqsh
Mounts: ["/opt/tools:/tools"]
Launcher: fsdp
Script: train.py
Python: venv/bin/python
Arguments: [--config, llama.yaml, --steps, 1000, --lr, 1e-4, --fast, true]
Data: [/fsx/data/c4, tokenizer]
Checkpoints: ../checkpoints/llama-70b
Logs: logs/llama
Time: 14-00:00:00
Environment: {WANDB_MODE: offline, EPOCHS: 3}
Secrets:
  HF_TOKEN: {File: /home/u/.cache/token}
  WANDB_API_KEY: {SecretsManager: training, Key: wandb}
Restarts: 3
OnFailure: requeue
Hang: 1h30m
OnHang: tell
StartUp: 20m
NoDrain: true
LogPattern: step (?P<step>\d+) loss (?P<loss>\S+)
`

func TestParse(t *testing.T) {
	want := &jobfile.Job{
		File: "job.yaml", Name: "llama-70b", Nodes: 11, Spares: 1, Ranks: 4, Queue: "gpu", Constraint: "p5e.48xlarge", Account: "research", QoS: "low",
		Image: "/home/u/llama/train.sqsh", Mounts: []string{"/opt/tools:/tools"}, Launcher: jobfile.FSDP,
		Script: "/home/u/llama/train.py", Python: "/home/u/llama/venv/bin/python",
		Arguments: []string{"--config", "llama.yaml", "--steps", "1000", "--lr", "1e-4", "--fast", "true"},
		Data:      []string{"/fsx/data/c4", "/home/u/llama/tokenizer"}, Checkpoints: "/home/u/checkpoints/llama-70b", Logs: "/home/u/llama/logs/llama",
		Time: "14-00:00:00", Environment: []jobfile.Variable{{Name: "WANDB_MODE", Value: "offline"}, {Name: "EPOCHS", Value: "3"}},
		Secrets: []jobfile.Secret{{Name: "HF_TOKEN", File: "/home/u/.cache/token"}, {Name: "WANDB_API_KEY", SecretsManager: "training", Key: "wandb"}},
		Policy: policy.Policy{Checkpoints: []string{"/home/u/checkpoints/llama-70b"}, Restarts: 3, OnFailure: "requeue", Hang: policy.Hang{Limit: 90 * time.Minute}, OnHang: "tell",
			StartUp: policy.Span(20 * time.Minute), LogPattern: `step (?P<step>\d+) loss (?P<loss>\S+)`, NoDrain: true},
	}
	if diff := cmp.Diff(want, parse(t, full), cmpopts.IgnoreUnexported(jobfile.Job{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParse_defaults(t *testing.T) {
	want := &jobfile.Job{
		File: "job.yaml", Name: "a", Nodes: 1, Launcher: jobfile.Torchrun, Script: "/home/u/llama/a.py", Python: "python3", Logs: "/home/u/llama/logs",
		Time: "1:30:00", Policy: policy.Default(),
	}
	got := parse(t, "Job: a\nNodes: 1\nScript: a.py\nTime: 1:30:00\n")
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(jobfile.Job{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if place := got.Place("Time"); place.Line != 4 || place.File != "job.yaml" {
		t.Errorf("Time is at %+v", place)
	}
}

// least is a job file without problems, up to what a row adds.
const least = "Job: a\nNodes: 1\nScript: a.py\nTime: 10\n"

func TestParse_problems(t *testing.T) {
	var b strings.Builder
	for _, row := range []struct{ name, data string }{
		{"empty", ""},
		{"nothing_said", "Nodes: 1\n"},
		{"misspelt", least + "Argumets: [a]\nlauncher: srun\nCheckpoint: /x\n"},
		{"other_words", least + "Instances: 3\nCommand: python x\n"},
		{"no_map", "- Job: a\n"},
		{"cluster_file", "Region: us-east-1\nHeadNode: {}\nScheduling: {}\n"},
		{"wrong_types", "Job: 5\nNodes: many\nScript: [a.py]\nTime: {a: b}\nArguments: --fast\nEnvironment: [A]\nSecrets: x\nData: /fsx\n"},
		{"names", "Job: a b\nNodes: 1\nScript: a.py\nTime: 10\nQueue: 'gpu;id'\nAccount: -x\nQoS: \"a\\nb\"\nConstraint: \"a' b\"\n"},
		{"shares", "Job: a\nNodes: 2\nGPUs: 4\nScript: a.py\nTime: 10\n"},
		{"too_many", least + "Ranks: 5000\nRestarts: -1\nSpares: 17\n"},
		{"runs_nothing", "Job: a\nNodes: 1\nTime: 10\n"},
		{"runs_two", least + "Module: a.b\n"},
		{"no_python", "Job: a\nNodes: 1\nScript: ./solver\nTime: 10\n"},
		{"launcher", least + "Launcher: mpirun\n"},
		{"time_unlimited", "Job: a\nNodes: 1\nScript: a.py\nTime: UNLIMITED\n"},
		{"time_zero", "Job: a\nNodes: 1\nScript: a.py\nTime: 0\n"},
		{"pattern", least + "LogPattern: '('\n"},
		{"hang_forms", least + "Hang: [1]\nStartUp: {a: b}\nOnHang: ask\nNoDrain: maybe\n"},
		{"hang", least + "Hang: soon\nStartUp: 5\n"},
		{"arguments", least + "Arguments: [a, [b], {c: d}, null, \"e\\0f\"]\n"},
		{"paths", least + "Checkpoints: ~/x\nLogs: \"/a\\nb\"\nPython: ~/bin/python\n"},
		{"path_quotes", least + "Checkpoints: /it's\nLogs: '/a#b'\n"},
		{"path_variable", least + "Checkpoints: /fsx/$USER\n"},
		{"mounts", least + "Mounts: ['data:/data', '/a:/b,/c:/d']\n"},
		{"environment", least + "Environment: {RANK: 0, SLURM_JOB_ID: 4, A-B: c, MASTER_PORT: 29500, D: [e], F: }\n"},
		{"secrets", least + "Environment: {A: b}\nSecrets: {A: {File: /x}, B: {}, C: {File: /x, Environment: D}, E: {Path: /x}, F: x, 'G H': {File: /x}}\n"},
		{"secret_names", least + "Secrets:\n  LD_PRELOAD: {File: /x}\n  BASH_ENV: {File: /x}\n  SBATCH_EXPORT: {File: /x}\n  SLURM_TOKEN: {File: /x}\n  MUSTER_KEY: {File: /x}\n  PYTHONSTARTUP: {File: /x}\n"},
		{"vault", least + "Secrets: {A: {File: /x, Key: k}, B: {SecretsManager: 'arn:aws:s3:::bucket'}, C: {SecretsManager: 'a b', Key: [k]}, D: {Key: k}, " +
			"E: {SecretsManager: 'arn:aws:secretsmanager:us-east-1:123456789012:secret:t/hf-AbCdEf', Key: k}}\n"},
		{"bomb", "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n" +
			"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nArguments: [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"},
		{"deep", "Arguments: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n"},
		{"large", "Job: a # " + strings.Repeat("x", 1<<20) + "\n"},
		{"many_arguments", least + "Arguments: [" + strings.Repeat("x, ", 10_001) + "]\n"},
		{"cluster_file", "Region: us-east-1\nHeadNode: {InstanceType: c6i.large}\n"},
		{"two_documents", least + "---\n" + least},
	} {
		j, problems := jobfile.Parse("job.yaml", "/home/u", []byte(row.data))
		if j != nil || !problems.HasErrors() {
			t.Errorf("%s is accepted", row.name)
		}
		b.WriteString("== " + row.name + "\n" + text(t, problems))
	}
	golden.Check(t, "problems.txt", b.String())
}

// A secret has no name of a variable that the shell, the loader, Slurm, Python or muster reads.
func TestParse_secret_names(t *testing.T) {
	for _, name := range strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT LD_X GLIBC_TUNABLES PATH IFS BASH_ENV ENV SHELLOPTS BASHOPTS PS4 HOME _ UID LINENO
		PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONWARNINGS SLURM_X SBATCH_X SRUN_X MUSTER_X RANK`) {
		j, problems := jobfile.Parse("job.yaml", "/home/u", []byte(least+"Secrets: {"+name+": {File: /x}}\n"))
		if all := problems.All(); j != nil || len(all) != 1 || all[0].Line != 5 || all[0].Hint == "" || !strings.Contains(all[0].Message, name) {
			t.Errorf("%s: %s", name, text(t, problems))
		}
	}
	for _, name := range strings.Fields("HF_TOKEN WANDB_API_KEY AWS_SECRET_ACCESS_KEY SLURMY PYTHON_TOKEN PYTHON LD ENVIRONMENT PATHS HOME_TOKEN PS5 MUSTER") {
		parse(t, least+"Secrets: {"+name+": {File: /x}}\n")
	}
}

func TestParse_hang_off(t *testing.T) {
	for data, want := range map[string]policy.Hang{"off": {Off: true}, "auto": {}, "'off'": {Off: true}, "45m": {Limit: 45 * time.Minute}} {
		if got := parse(t, least+"Hang: "+data+"\n").Policy.Hang; got != want {
			t.Errorf("Hang: %s is %+v", data, got)
		}
	}
}

func TestMinutes(t *testing.T) {
	for text, want := range map[string]int{
		"90": 90, "90:30": 91, "1:30:00": 90, "0:0:1": 1, "2-0": 2880, "2-12": 3600, "2-12:30": 3630, "2-12:30:01": 3631,
		"": 0, "0": 0, "x": 0, "1:2:3:4": 0, "1-2:3:4:5": 0, "-5": 0, "1-": 0,
	} {
		if got := jobfile.Minutes(text); got != want {
			t.Errorf("Minutes(%q) = %d, want %d", text, got, want)
		}
	}
}

// seven are the models of a muster.yaml.
func seven(t testing.TB) *spec.Workload {
	t.Helper()
	data, err := os.ReadFile("../../../examples/guide-80/muster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, problems := spec.ParseWorkload("muster.yaml", data, nil)
	if w == nil {
		t.Fatal(text(t, problems))
	}
	return w
}

const template = `Job: train
Script: "{model}.py"
Arguments: [--name, "{model}", "{other}"]
Data: ["/fsx1/{model}"]
Checkpoints: /fsx2/{model}/checkpoints
Logs: /fsx3/{model}/logs
Time: 7-00:00:00
Environment: {NAME: "{model}"}
`

func TestJob_All(t *testing.T) {
	all, problems := parse(t, template).All(seven(t))
	if len(all) != 7 || problems.Len() > 0 {
		t.Fatalf("%d jobs\n%s", len(all), text(t, problems))
	}
	last := all[6]
	seventh := policy.Default()
	seventh.Model, seventh.Checkpoints = "model7", []string{"/fsx2/model7/checkpoints"}
	want := &jobfile.Job{
		File: "job.yaml", Name: "train-model7", Model: "model7", Nodes: 14, Launcher: jobfile.Torchrun, Script: "/home/u/llama/model7.py", Python: "python3",
		Arguments: []string{"--name", "model7", "{other}"}, Data: []string{"/fsx1/model7"}, Checkpoints: "/fsx2/model7/checkpoints", Logs: "/fsx3/model7/logs",
		Time: "7-00:00:00", Environment: []jobfile.Variable{{Name: "NAME", Value: "model7"}}, Policy: seventh,
	}
	if diff := cmp.Diff(want, last, cmpopts.IgnoreUnexported(jobfile.Job{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all[0].Nodes != 11 || all[0].Name != "train-model1" {
		t.Errorf("the first is %+v", all[0])
	}
}

func TestJob_One(t *testing.T) {
	w := seven(t)
	if j, problems := parse(t, template).One(w, "model3"); j == nil || j.Name != "train-model3" || j.Nodes != 11 {
		t.Errorf("%+v\n%s", j, text(t, problems))
	}
	if j, problems := parse(t, template+"Model: model7\nNodes: 2\n").One(w, ""); j == nil || j.Name != "train" || j.Nodes != 2 {
		t.Errorf("%+v\n%s", j, text(t, problems))
	}
	if j, problems := parse(t, least).One(&spec.Workload{}, ""); j == nil || j.Nodes != 1 {
		t.Errorf("%+v\n%s", j, text(t, problems))
	}
}

func TestJob_models_problems(t *testing.T) {
	var b strings.Builder
	for _, row := range []struct {
		name, data, model string
		all               bool
		workload          *spec.Workload
	}{
		{name: "no_such_model", data: template, model: "modle7", workload: seven(t)},
		{name: "other_name", data: template, model: "llama", workload: &spec.Workload{Models: []spec.Model{{Name: "a"}, {Name: "b"}}}},
		{name: "no_models", data: template, model: "llama", workload: &spec.Workload{}},
		{name: "placeholder_alone", data: template + "Nodes: 1\nMounts: ['/{model}:/x']\nImage: '{model}.sqsh'\n", workload: seven(t)},
		{name: "no_nodes", data: "Job: a\nScript: a.py\nTime: 10\n", workload: &spec.Workload{}},
		{name: "model_without_nodes", data: "Job: a\nScript: a.py\nTime: 10\nModel: a\n", workload: &spec.Workload{Models: []spec.Model{{Name: "a"}}}},
		{name: "all_of_one", data: template + "Model: model1\n", all: true, workload: seven(t)},
		{name: "all_of_none", data: template, all: true, workload: &spec.Workload{}},
		{name: "same_checkpoints", data: "Job: a\nScript: a.py\nTime: 10\nCheckpoints: /x\n", all: true, workload: seven(t)},
	} {
		j := parse(t, row.data)
		var problems *diag.List
		if row.all {
			_, problems = j.All(row.workload)
		} else {
			_, problems = j.One(row.workload, row.model)
		}
		if !problems.HasErrors() {
			t.Errorf("%s is accepted", row.name)
		}
		b.WriteString("== " + row.name + "\n" + text(t, problems))
	}
	golden.Check(t, "models.txt", b.String())
}

// FuzzParse holds what Parse promises for any bytes: a job or errors, never both and never a
// panic; a place for each problem; and no text that could leave its line of sbatch's options.
func FuzzParse(f *testing.F) {
	for _, s := range []string{full, least, template, "", "\t", "Job: &a [*a]", "Environment: {<<: {A: b}}", "Job: \"a\\nb\"\nLogs: \"/x\\r\"\n", "Arguments: !!binary eA=="} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j, problems := jobfile.Parse("job.yaml", "/home/u", data)
		if (j == nil) != problems.HasErrors() {
			t.Fatalf("job %v, errors %v", j != nil, problems.HasErrors())
		}
		for _, d := range problems.All() {
			if d.File != "job.yaml" || d.Code == "" || d.Message == "" {
				t.Fatalf("%+v", d)
			}
		}
		if j == nil {
			return
		}
		for _, s := range []string{j.Name, j.Model, j.Queue, j.Constraint, j.Account, j.QoS, j.Time, j.Logs, j.Checkpoints} {
			if strings.ContainsAny(s, "\n\r'\"\\#\x00") {
				t.Fatalf("%q in a line of options", s)
			}
		}
		for _, v := range j.Environment {
			if v.Name == "" || strings.ContainsAny(v.Name, " \n=;$") || strings.ContainsRune(v.Value, 0) {
				t.Fatalf("variable %q = %q", v.Name, v.Value)
			}
		}
		for _, p := range append([]string{j.Logs}, j.Data...) {
			if !strings.HasPrefix(p, "/") {
				t.Fatalf("%q is not absolute", p)
			}
		}
	})
}
