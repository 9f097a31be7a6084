package spec

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// modelPlaceholder stands for each model's name in a directory's path.
const modelPlaceholder = "{model}"

// Expanded are the directories with each model's name for "{model}", in the
// file's order, and within one entry in that of the models.
func (w *Workload) Expanded() []Directory {
	var out []Directory
	for _, d := range w.Directories {
		if !strings.Contains(d.Path, modelPlaceholder) {
			out = append(out, d)
			continue
		}
		for _, m := range w.Models {
			out = append(out, Directory{Path: strings.ReplaceAll(d.Path, modelPlaceholder, m.Name), Mode: d.Mode})
		}
	}
	return out
}

// buildWorkload makes the model of a file. It is whole only if the checks find
// no errors.
func buildWorkload(name string, root View) *Workload {
	w := &Workload{File: name}
	root.fill(w)
	for _, d := range root.Key("Directories").Items() {
		mode, _ := parseMode(d.Key("Mode").Text())
		w.Directories = append(w.Directories, Directory{Path: path.Clean(d.Key("Path").Text()), Mode: mode})
	}
	if g := root.Key("Grafana"); g.Present() {
		g.fill(&w.Grafana)
	}
	if root.Key("Enforce").Present() && w.Enforce == nil {
		w.Enforce = []string{} // to nothing, and that is said
	}
	return w
}

// parseMode reads permission bits, which are octal as for chmod.
func parseMode(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 8, 32)
	return uint32(n), err == nil && len(text) >= 3 && len(text) <= 5 && n <= 0o7777
}

// checkWorkload reports what the schema's table cannot say.
func checkWorkload(root View, w *Workload, c *Cluster) {
	checkRun(root.Key("Run"))
	checkTrained(root.Key("Models"), c)
	checkFileSystems(root.Key("FileSystems"), c)
	checkBuckets(root.Key("Buckets"))
	checkGrafana(root.Key("Grafana"))
	checkBurnIn(root.Key("BurnIn"), w, c)
	checkAccounts(root, w, c)
	if !checkSize(root, w) {
		return
	}
	mounts := mountsOf(w, c)
	checkExports(root.Key("Exports"), w, c, mounts)
	for _, m := range root.Key("Models").Items() {
		checkDirectory(m.Key("Checkpoints"), mounts)
	}
	var paths unique
	for i, d := range root.Key("Directories").Items() {
		checkMode(d.Key("Mode"))
		if dir := d.Key("Path"); checkDirectory(dir, mounts) {
			checkModels(dir, w)
			checkTwice(&paths, dir, (&Workload{Models: w.Models, Directories: w.Directories[i : i+1]}).Expanded())
		}
	}
}

// maxDirectories and maxPath bound what {model} may stand for.
const (
	maxDirectories = 10_000
	maxPath        = 4096
)

// checkSize reports whether the directories can be written out.
func checkSize(root View, w *Workload) bool {
	longest := 0
	for _, m := range w.Models {
		longest = max(longest, len(m.Name))
	}
	total := 0
	for i, d := range w.Directories {
		n := strings.Count(d.Path, modelPlaceholder)
		if n == 0 {
			total++
			continue
		}
		total += len(w.Models)
		if len(d.Path)+n*longest > maxPath {
			root.Key("Directories").Items()[i].Key("Path").Errorf("workload/path", "the path is longer than %d characters with a model's name in it", maxPath)
			return false
		}
	}
	if total > maxDirectories {
		root.Key("Directories").Errorf("workload/size", "these are %d directories; there can be %d", total, maxDirectories)
	}
	return total <= maxDirectories
}

func checkMode(v View) {
	if v.node == nil || v.node.tag == "bad" {
		return
	}
	if _, ok := parseMode(v.Text()); !ok || v.node.kind != scalar || v.node.null() {
		v.Errorf("workload/mode", "Mode cannot be %s", v.node.describe()).WithHint("write permission bits as for chmod: Mode: \"0775\"")
	}
}

var placeholder = pattern.New(`\{[^{}]*\}|[{}]`)

// checkDirectory reports whether a path can be a directory of shared storage.
// With nil for the mounts it can be anywhere.
func checkDirectory(v View, mounts []string) bool {
	if !v.Present() || v.node.kind != scalar || v.Text() == "" {
		return false
	}
	dir := v.Text()
	for _, p := range placeholder().FindAllString(dir, -1) {
		if p != modelPlaceholder {
			v.Errorf("workload/path", "%s in a path stands for nothing", quote(p)).WithHint("use {model}, which stands for each model's name")
			return false
		}
	}
	switch {
	case strings.ContainsFunc(dir, breaksLine):
		v.Errorf("workload/path", "the path has a line break or control character")
	case !path.IsAbs(dir):
		v.Errorf("workload/path", "the path %s is not absolute", quote(dir)).WithHint("begin it with a mount of the cluster file%s", mountsHint(mounts))
	case slices.Contains(strings.Split(dir, "/"), ".."):
		v.Errorf("workload/path", "the path %s has .. in it", quote(dir)).WithHint("write the path that it leads to")
	case mounts != nil && !onMount(path.Clean(dir), mounts):
		v.Errorf("workload/mount", "%s is on no shared storage of the cluster file", quote(dir)).
			WithHint("use a directory below a mount%s", mountsHint(mounts))
	default:
		return true
	}
	return false
}

// mountsOf are the mounts of a cluster's file systems, nil without a cluster.
func mountsOf(w *Workload, c *Cluster) []string {
	if c == nil {
		return nil
	}
	mounts := []string{}
	for _, s := range c.SharedStorage {
		mounts = append(mounts, s.MountDir)
	}
	for _, f := range w.FileSystems {
		mounts = append(mounts, f.MountDir)
	}
	return mounts
}

// onMount reports whether a directory is a mount or below one.
func onMount(dir string, mounts []string) bool {
	return slices.ContainsFunc(mounts, func(m string) bool { return dir == m || strings.HasPrefix(dir, m+"/") })
}

func mountsHint(mounts []string) string {
	if len(mounts) == 0 {
		return ""
	}
	return ": " + enumerate(mounts)
}

func checkModels(v View, w *Workload) {
	if strings.Contains(v.Text(), modelPlaceholder) && len(w.Models) == 0 {
		v.Errorf("workload/models", "%s stands for each model, but there are no Models", modelPlaceholder).WithHint("add Models with a Name each")
	}
}

// checkTwice reports the first of a row's directories that another row has.
func checkTwice(paths *unique, v View, dirs []Directory) *diag.Diagnostic {
	for _, d := range dirs {
		if problem := paths.checkAs(d.Path, v, "workload/duplicate"); problem != nil {
			return problem
		}
	}
	return nil
}
