package jobfile

import (
	"path"
	"strings"

	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/spec"
)

// build reads the values; what is wrong with them is checkJob's.
func (j *Job) build(root spec.View, dir string) {
	text := func(key string) string { return root.Key(key).Text() }
	file := func(key string) string { return absolute(dir, text(key)) }
	j.Name, j.Model, j.Queue = text("Job"), text("Model"), text("Queue")
	j.Constraint, j.Account, j.QoS = text("Constraint"), text("Account"), text("QoS")
	j.Nodes, j.GPUs, j.Ranks = root.Key("Nodes").Int(), root.Key("GPUs").Int(), root.Key("Ranks").Int()
	j.Spares = root.Key("Spares").Int()
	j.Launcher = Launcher(text("Launcher"))
	j.Script, j.Module, j.Time = file("Script"), text("Module"), text("Time")
	j.Checkpoints, j.Logs = file("Checkpoints"), file("Logs")
	j.Arguments = root.Key("Arguments").Texts()
	j.Python = program(dir, text("Python"))
	j.Image = image(dir, text("Image"))
	j.Mounts = root.Key("Mounts").Texts()
	for _, d := range root.Key("Data").Texts() {
		j.Data = append(j.Data, absolute(dir, d))
	}
	if j.Logs == "" {
		j.Logs = path.Join(dir, "logs")
	}
	for _, e := range root.Key("Environment").Entries() {
		j.Environment = append(j.Environment, Variable{e.Key, e.Value.Text()})
	}
	for _, e := range root.Key("Secrets").Entries() {
		of := func(key string) string { return e.Value.Keyed(key).Text() }
		j.Secrets = append(j.Secrets, Secret{e.Key, of("File"), of("Environment"), of("SecretsManager"), of("Key")})
	}
	j.Policy = policy.Default()
	if j.Checkpoints != "" {
		j.Policy.Checkpoints = []string{j.Checkpoints}
	}
}

// absolute is a path from dir; an empty one stays.
func absolute(dir, p string) string {
	if p == "" {
		return ""
	}
	if !path.IsAbs(p) {
		p = path.Join(dir, p)
	}
	return path.Clean(p)
}

// program is a program's name, which is looked for, or its path.
func program(dir, name string) string {
	if strings.Contains(name, "/") {
		return absolute(dir, name)
	}
	return name
}

// image is an image's file, or one of a registry, as srun --container-image reads it.
func image(dir, name string) string {
	switch {
	case strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"), strings.HasPrefix(name, "/"):
		return absolute(dir, name)
	case !strings.Contains(name, "://") && !strings.Contains(name, "#") && imageFile(name):
		return absolute(dir, name)
	}
	return name
}

func imageFile(name string) bool {
	return strings.HasSuffix(name, ".sqsh") || strings.HasSuffix(name, ".squashfs")
}
