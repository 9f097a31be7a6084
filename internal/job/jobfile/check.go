package jobfile

import (
	"slices"
	"strings"
	"unicode"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// checkJob reports what the table cannot say.
func checkJob(root spec.View, j *Job) {
	checkShare(root)
	checkRuns(root, j)
	checkTime(root.Key("Time"))
	checkPolicy(root, j)
	checkArguments(root.Key("Arguments"))
	checkPaths(root)
	checkEnvironment(root.Key("Environment"))
	checkSecrets(root.Key("Secrets"), j)
}

// checkShare checks how much of the cluster the job takes.
func checkShare(root spec.View) {
	nodes, gpus := root.Key("Nodes"), root.Key("GPUs")
	if nodes.Present() && gpus.Present() {
		gpus.Errorf("job/share", "Nodes and GPUs both say how much of the cluster the job takes").
			WithHint("GPUs is for a part of one node; remove it for whole nodes")
	}
}

// checkRuns checks what runs.
func checkRuns(root spec.View, j *Job) {
	script, module := root.Key("Script"), root.Key("Module")
	switch {
	case script.Present() && module.Present():
		module.Errorf("job/runs", "Script and Module both say what runs").WithHint("remove one of them")
	case !script.Present() && !module.Present():
		root.Errorf("job/runs", "nothing says what runs").WithHint("add Script: train.py, or Module: package.train")
	case script.Given() && j.Launcher != Srun && !Python(j.Script):
		script.Errorf("job/runs", "%s starts programs of Python, and the name of %q does not end in .py", j.Launcher, script.Text()).
			WithHint("Launcher: srun starts any program")
	}
}

// Python reports whether a program is one of Python's, as its name says.
func Python(script string) bool { return strings.HasSuffix(script, ".py") }

// slurmTime are the forms that sbatch --time takes, but for those without a limit.
var slurmTime = pattern.New(`^([0-9]{1,6}(:[0-9]{1,2}){0,2}|[0-9]{1,4}-[0-9]{1,2}(:[0-9]{1,2}){0,2})$`)

func checkTime(v spec.View) {
	switch {
	case !v.Present():
	case !v.Plain() || !slurmTime().MatchString(v.Text()) || Minutes(v.Text()) == 0:
		v.Errorf("job/time", "Time cannot be %s", v.Describe()).
			WithHint("write it as for sbatch: 90 (minutes), 12:00:00, 14-00:00:00 (days)")
	}
}

// wishes are the keys that say what becomes of the job, with their options in package policy.
var wishes = []struct{ key, option string }{
	{"Restarts", "restarts"}, {"OnFailure", "on-failure"}, {"Hang", "hang"}, {"OnHang", "on-hang"}, {"StartUp", "start-up"}, {"LogPattern", "log-pattern"},
}

// checkPolicy reads what becomes of the job, which package policy judges.
func checkPolicy(root spec.View, j *Job) {
	for _, w := range wishes {
		v := root.Key(w.key)
		if !v.Given() {
			continue
		}
		if !v.Plain() {
			v.Errorf("job/policy", "%s must be a text, not %s", w.key, v.Describe())
			continue
		}
		with, refused := j.Policy.With([]string{"--" + w.option + "=" + v.Text()})
		for _, d := range refused.All() {
			v.Errorf("job/policy", "%s", strings.Replace(d.Message, "--"+w.option, w.key, 1)).WithHint("%s", d.Hint)
		}
		j.Policy = with
	}
	j.Policy.NoDrain = root.Key("NoDrain").Bool()
}

// A command line has its limits: Linux takes 128 KiB in a word.
const (
	maxArguments = 10_000
	maxWord      = 128<<10 - 1
)

func checkArguments(v spec.View) {
	if !v.Present() {
		return
	}
	if !v.Listed() {
		v.Errorf("schema/type", "%s must be a list, not %s", v.Name(), v.Describe()).WithHint("write each word by itself: [--steps, 1000]")
		return
	}
	if n := len(v.Items()); n > maxArguments {
		v.Errorf("job/arguments", "these are %d arguments; there can be %d", n, maxArguments)
		return
	}
	for _, a := range v.Items() {
		switch {
		case !a.Plain():
			a.Errorf("job/arguments", "an argument must be a text or a number, not %s", a.Describe()).WithHint("put it in quotes")
		default:
			checkWord(a)
		}
	}
}

// checkWord holds that a text can be a word of a command line.
func checkWord(v spec.View) {
	switch text := v.Text(); {
	case strings.ContainsRune(text, 0):
		v.Errorf("job/text", "the text has a zero byte, which no program can be given")
	case len(text) > maxWord:
		v.Errorf("job/text", "the text has %d bytes; Linux takes %d in a word", len(text), maxWord)
	}
}

// checkPaths checks what is a path, or becomes a word of an #SBATCH line.
func checkPaths(root spec.View) {
	for _, key := range []string{"Script", "Python", "Image", "Checkpoints", "Logs"} {
		checkPath(root.Key(key))
	}
	for _, key := range []string{"Data", "Mounts"} {
		for _, item := range root.Key(key).Items() {
			checkPath(item)
		}
	}
	for _, key := range []string{"Checkpoints", "Logs"} {
		if v := root.Key(key); v.Given() && strings.ContainsAny(v.Text(), "'`\"\\#$") {
			v.Errorf("job/path", "%q has quotes, \\, # or $, which options of sbatch cannot have", v.Text()).WithHint("write the directory's name out, or give it another one")
		}
	}
	for _, item := range root.Key("Mounts").Items() {
		if source, _, _ := strings.Cut(item.Text(), ":"); item.Given() && (strings.Contains(item.Text(), ",") || !strings.HasPrefix(source, "/")) {
			item.Errorf("job/mounts", "%q is no mount", item.Text()).WithHint("write SOURCE:TARGET, as in /opt/data:/data")
		}
	}
}

func checkPath(v spec.View) {
	if !v.Given() {
		return
	}
	switch text := v.Text(); {
	case strings.ContainsFunc(text, unicode.IsControl):
		v.Errorf("job/path", "the path has a line break or control character")
	case strings.HasPrefix(text, "~"):
		v.Errorf("job/path", "%q begins with ~, which only shells know", text).WithHint("write the path out")
	}
}

var variableName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// taken are variables that the launcher or Slurm sets, each rank its own.
var taken = []string{
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "NCCL_RAS_ADDR",
}

func checkEnvironment(v spec.View) {
	for _, e := range v.Entries() {
		checkName(e)
		switch {
		case !e.Value.Plain():
			e.Value.Errorf("job/environment", "%s must be a text or a number, not %s", e.Key, e.Value.Describe()).WithHint(`an empty text is ""`)
		default:
			checkWord(e.Value)
		}
	}
}

// checkName reports names that no variable can have, or that are set for each rank.
func checkName(e spec.Entry) *diag.Diagnostic {
	switch {
	case !variableName().MatchString(e.Key):
		return e.Value.Errorf("job/environment", "%q cannot be the name of a variable", e.Key).WithHint("it takes letters, digits and _")
	case slices.Contains(taken, e.Key), strings.HasPrefix(e.Key, "SLURM_"):
		return e.Value.Errorf("job/environment", "%s is set for each rank when the job runs", e.Key).WithHint("remove it")
	}
	return nil
}

// checkSecretName reports names that cannot be a secret's.
func checkSecretName(e spec.Entry) {
	if checkName(e) != nil {
		return
	}
	if who := readBy(e.Key); who != "" {
		e.Value.Errorf("job/secret", "%s cannot be a secret, as %s reads it", e.Key, who).
			WithHint("what reads such a variable may print it; give the secret another name, which your program reads")
	}
}

// sources are the keys of a secret that say where it is.
var sources = []string{"File", "Environment", "SecretsManager"}

func checkSecrets(v spec.View, j *Job) {
	for _, e := range v.Entries() {
		checkSecretName(e)
		given := 0
		for _, inner := range e.Value.Entries() {
			switch {
			case slices.Contains(sources, inner.Key):
				given++
			case inner.Key != "Key":
				inner.Value.Errorf("schema/unknown", "%q is not a key of %s", inner.Key, "a secret").WithHint("%s", secretHint)
			}
			if !inner.Value.Plain() {
				inner.Value.Errorf("job/secret", "%s must be a text, not %s", inner.Key, inner.Value.Describe())
			}
		}
		if given != 1 {
			e.Value.Errorf("job/secret", "%s says not where its value is, or says it twice", e.Key).WithHint("%s", secretHint)
		}
		checkVault(e.Value.Keyed("SecretsManager"), e.Value.Keyed("Key"))
		if slices.ContainsFunc(j.Environment, func(o Variable) bool { return o.Name == e.Key }) {
			e.Value.Errorf("job/secret", "%s is in Environment, too", e.Key).WithHint("remove it there")
		}
	}
}

// secretID are the names and ARNs of Secrets Manager (its CreateSecret and GetSecretValue).
var secretID = pattern.New(`^(arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,519}$`)

func checkVault(id, key spec.View) {
	if id.Given() && id.Plain() && !secretID().MatchString(id.Text()) {
		id.Errorf("job/secret", "%q is no secret of Secrets Manager", id.Text()).WithHint("give its name, or its ARN: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME")
	}
	if key.Present() && !id.Present() {
		key.Errorf("job/secret", "Key is for secrets of SecretsManager alone").WithHint("remove it")
	}
}

const secretHint = "give one of File, Environment and SecretsManager, and beside the last Key for a part of the value"
