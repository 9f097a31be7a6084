package batch

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// storageRules are about what stands where: output, checkpoints, data.
func storageRules(s *script) {
	s.outputNames()
	s.outputDirs()
	if s.facts == nil || !s.facts.Filed {
		return
	}
	seen, said := map[string]bool{}, map[string]bool{}
	for _, p := range carriedLast(s.spots()) {
		kind := use(p.name)
		key := p.name + p.path
		if kind == "" || seen[key] || p.carried && said[kind+p.path] {
			continue
		}
		seen[key], said[kind+p.path] = true, true
		switch kind {
		case "output":
			s.homeOutput(p)
		case "checkpoints":
			if p.variableName == "" && !p.read || p.variableName != "" && s.writesTo(p.variableName) {
				s.checkpointPlace(p)
			}
		case "data":
			s.homeData(p)
		}
	}
}

// carriedLast puts the paths behind the others that a variable of several words has.
func carriedLast(all []spot) []spot {
	slices.SortStableFunc(all, func(a, b spot) int {
		switch {
		case a.carried == b.carried:
			return 0
		case a.carried:
			return 1
		}
		return -1
	})
	return all
}

// The names of options and variables say what a path is for.
var (
	checkpointName = pattern.New(`(?i)(^|[-_.])(checkpoints?|ckpts?|save|saves|save-?path|snapshots?)([-_.]|$)|(checkpoint|ckpt)s?[-_]?(dir|path|root)$`)
	dataName       = pattern.New(`(?i)(^|[-_.])(data|datasets?|train-?data|tokenizer|vocab|corpus|container-image|image)([-_.]?(dir|path|root|file|prefix|image))?$`)
)

// use is what a path is for: output, checkpoints, data, or "".
func use(name string) string {
	name = strings.ReplaceAll(name, "_", "-")
	switch {
	case name == "output", name == "error":
		return "output"
	case strings.Contains(strings.ToLower(name), "freq"), strings.Contains(strings.ToLower(name), "interval"), strings.Contains(strings.ToLower(name), "config"), loads(name):
		return ""
	case checkpointName().MatchString(name):
		return "checkpoints"
	case dataName().MatchString(name):
		return "data"
	}
	return ""
}

// outputNames: Slurm writes the output of two jobs of one name into one file.
func (s *script) outputNames() {
	mode, _ := s.option("open-mode")
	tasks, array := s.option("array")
	for _, name := range []string{"output", "error"} {
		o, ok := s.option(name)
		if !ok || o.Value == "/dev/null" || o.Place.Line == 0 || strings.ContainsAny(o.Value, "$`") {
			continue
		}
		switch {
		case array && !unique(o.Value, "jaN") && !singleTask(tasks.Value) && mode.Value != "append":
			s.errorf("script/output-name", o.Place, "all tasks of the array write to %s, one over the other", o.Value).
				WithHint("put %%A_%%a into the name")
		case !array && !unique(o.Value, "jJANt") && mode.Value != "append":
			s.warnf("script/output-name", o.Place, "the next job writes over %s", o.Value).
				WithHint("put %%j into the name, or write #SBATCH --open-mode=append")
		}
	}
}

// unique tells whether a pattern has one of some signs, as in %j and %4j
// (sbatch(1), filename pattern).
func unique(pattern, signs string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		i++
		for i < len(pattern) && '0' <= pattern[i] && pattern[i] <= '9' {
			i++
		}
		if i < len(pattern) && strings.IndexByte(signs, pattern[i]) >= 0 {
			return true
		}
	}
	return false
}

// OutputDirs are the directories that a job's output and errors go to, as far as
// the options tell them without patterns. flags are sbatch's on the command line.
func OutputDirs(data []byte, flags []string) []string {
	var dirs []string
	all := slices.Concat(Directives(data), flagsOf(flags))
	moved := slices.ContainsFunc(all, func(o Option) bool { return o.Name == "chdir" })
	for _, o := range all {
		if moved && !strings.HasPrefix(o.Value, "/") {
			continue
		}
		if i := strings.LastIndexByte(o.Value, '/'); (o.Name == "output" || o.Name == "error") && i > 0 && !strings.ContainsAny(o.Value[:i], "%$`") {
			dirs = append(dirs, o.Value[:i])
		}
	}
	return dirs
}

// outputDirs: Slurm opens the output before the script runs, and makes no
// directories.
func (s *script) outputDirs() {
	for _, name := range []string{"output", "error"} {
		o, ok := s.option(name)
		i := strings.LastIndexByte(o.Value, '/')
		if !ok || i <= 0 || strings.ContainsAny(o.Value, "$`") || name == "error" && s.sameDir("output", o.Value[:i]) {
			continue
		}
		dir := o.Value[:i]
		if s.facts != nil && slices.Contains(s.facts.Missing, dir) {
			s.errorf("script/output-dir", o.Place, "there is no directory %s: Slurm makes none, and the job fails without a word", dir).
				WithHint("mkdir -p %s", dir)
			continue
		}
		s.lateDir(o, dir)
		if strings.Contains(dir, "%") {
			s.warnf("script/output-dir", o.Place, "Slurm makes no directory for the output, and the name of %s is not known before the job is there", dir).
				WithHint("put the %% into the name of the file")
		}
	}
}

// lateDir: what the job makes itself comes after its output was opened.
func (s *script) lateDir(o Option, dir string) {
	if s.facts != nil && (slices.ContainsFunc(s.facts.Made, func(made string) bool { return within(dir, made) }) || s.facts.alwaysThere(dir)) {
		return
	}
	for _, c := range s.named("mkdir") {
		if !c.task() && c.makes(dir) {
			s.warnf("script/output-dir", o.Place, "the job makes %s in line %d, too late: Slurm opens its output before, and the first job fails without a word", dir, c.Line).
				WithHint("make the directory before you submit: mkdir -p %s", dir)
			return
		}
	}
}

// alwaysThere tells whether a directory is a mount, one above a mount, or a home.
func (f *Facts) alwaysThere(dir string) bool {
	dir = path.Clean(dir)
	return path.Dir(dir) == "/home" || slices.ContainsFunc(f.Mounts, func(m Mount) bool { return within(dir, m.Dir) })
}

// makes tells whether mkdir makes a directory: by its name, or with -p on the way to
// another.
func (c *command) makes(dir string) bool {
	parents := slices.ContainsFunc(c.args(), func(w word) bool {
		return w.text == "--parents" || strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "p")
	})
	return slices.ContainsFunc(c.args(), func(w word) bool {
		return w.known() && (path.Clean(w.text) == path.Clean(dir) || parents && within(dir, w.text))
	})
}

func (s *script) sameDir(name, dir string) bool {
	o, ok := s.option(name)
	return ok && strings.HasPrefix(o.Value, dir+"/") && !strings.Contains(o.Value[len(dir)+1:], "/")
}

// homeOutput: /home is the head node's disk, and every node writes to it.
func (s *script) homeOutput(p spot) {
	if m, ok := s.facts.mount(p.path); ok && m.Kind == "HeadNode" && s.job.several() {
		s.warnf("script/home-output", p.Place, "the output goes to %s, the head node's own disk, which all nodes of all jobs share", m.Dir).
			WithHint("%s", s.elsewhere())
	}
}

// elsewhere says where there is room.
func (s *script) elsewhere() string {
	for _, m := range s.facts.Mounts {
		if m.Kind == string(spec.Lustre) {
			return "use a directory below " + m.Dir
		}
	}
	return "use a shared file system, such as FSx for Lustre"
}

// homeData: all nodes read at once what one disk serves over NFS.
func (s *script) homeData(p spot) {
	if m, ok := s.facts.mount(p.path); ok && m.Kind == "HeadNode" && s.job.several() {
		s.warnf("script/home-data", p.Place, "all nodes read %s from the head node's own disk, over NFS", p.shown()).
			WithHint("%s", s.elsewhere())
	}
}

// shown is the path for people.
func (p spot) shown() string {
	if p.open {
		return p.path + "…"
	}
	return p.path
}

// nodeDirs are directories that go with the node or with its power.
var nodeDirs = []string{"/tmp", "/var/tmp", "/dev/shm", "/local", "/run"}

// checkpointPlace: checkpoints must outlive the node, the job and the cluster.
func (s *script) checkpointPlace(p spot) {
	if c := s.bucketAt(p.path); c != nil {
		s.bucketCheckpoint(p, c)
		return
	}
	if i := slices.IndexFunc(nodeDirs, func(d string) bool { return within(d, p.path) }); i >= 0 || s.scratch(p.path) {
		s.localCheckpoint(p)
		return
	}
	m, ok := s.facts.mount(p.path)
	if !ok {
		return
	}
	switch {
	case m.Kind == "HeadNode":
		s.warnf("script/home-checkpoint", p.Place, "checkpoints go to %s, the head node's own disk: they are slow to write, and fill it for everybody", m.Dir).
			WithHint("%s", s.elsewhere())
	case strings.HasPrefix(m.DeploymentType, "SCRATCH"):
		s.warnf("script/scratch-checkpoint", p.Place, "checkpoints go to %s, which is %s: it keeps one copy, and loses files with a server", m.Dir, m.DeploymentType).
			WithHint("DeploymentType: PERSISTENT_2, or copy them to S3 as well")
	case m.DeletionPolicy == spec.PolicyDelete:
		s.warnf("script/deleted-checkpoint", p.Place, "checkpoints go to %s, which is deleted with the cluster", m.Dir).
			WithHint("DeletionPolicy: Retain in the cluster file, or copy them to S3 as well")
	}
	s.exportOrder(m, p)
}

// exportOrder: FSx exports each file by itself, in no order that it tells. What a pointer names may come to the bucket
// after it, and a job that was killed while it saved leaves half a checkpoint there
// (https://docs.aws.amazon.com/fsx/latest/LustreGuide/autoexport-data-repo-dra.html).
func (s *script) exportOrder(m Mount, p spot) {
	for _, e := range m.Exported {
		if within(e.Dir, p.path) {
			from := strings.TrimSuffix("s3://"+e.Bucket+"/"+strings.Trim(e.Prefix, "/"), "/")
			s.infof("script/export-order", p.Place, "FSx exports the checkpoints in %s file by file: the bucket may have half of one, and a pointer to it", e.Dir).
				WithHint("`muster data restore %s` takes the newest of which all is there", from)
			return
		}
	}
}

// copiers take files from one place to another.
var copiers = []string{"cp", "rsync", "mv", "aws", "s5cmd", "rclone", "tar", "gsutil", "scp", "dcp", "mpifileutils"}

// localCheckpoint: a node's own disk goes with the node. A script that copies from
// there, or names the directory to a program that may, takes care of that.
func (s *script) localCheckpoint(p spot) {
	for _, c := range s.commands {
		if slices.Contains(copiers, c.name) && slices.ContainsFunc(c.args(), func(w word) bool {
			return strings.HasPrefix(w.text, p.path) || strings.HasPrefix(p.path, strings.TrimRight(w.text, "/")+"/")
		}) {
			return
		}
	}
	byDefault := ""
	if p.assumed {
		byDefault = " by default"
	}
	d := s.warnf("script/local-checkpoint", p.Place, "checkpoints go to %s%s, the node's own disk: they are lost with the node", p.shown(), byDefault)
	d.WithHint("%s, or copy them off", s.elsewhere())
}
