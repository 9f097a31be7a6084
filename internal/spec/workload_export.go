package spec

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/diag"
)

// Export is a directory of shared storage whose files go to a bucket, beside what FSx for
// Lustre exports by itself.
type Export struct {
	// Directory is absolute, clean, and under a mount of the cluster.
	Directory string
	Bucket    string `key:"Bucket"`
	// Prefix has no leading slash, and ends in one unless it is empty.
	Prefix string
	// Policy holds NEW, CHANGED and DELETED: what of the files goes to the bucket.
	Policy []string
	// KeepLast and KeepEvery are which checkpoints stay in the bucket; 0 is not said.
	KeepLast  int `key:"KeepLast"`
	KeepEvery int `key:"KeepEvery"`
	// Quiet is how long a directory that is no known checkpoint has to be still until it
	// counts as whole; 0 is not said.
	Quiet time.Duration
	// Place is where the file names the bucket.
	Place diag.Place
}

// usualPolicy is what goes to a bucket where the file does not say it.
var usualPolicy = []string{"NEW", "CHANGED"}

func (e *Export) build(v View) {
	v.fill(e)
	if dir := v.Key("Directory"); dir.Present() {
		e.Directory = path.Clean(dir.Text())
	}
	if e.Prefix = strings.Trim(v.Key("Prefix").Text(), "/"); e.Prefix != "" {
		e.Prefix += "/"
	}
	if e.Policy = v.Key("Policy").Texts(); len(e.Policy) == 0 {
		e.Policy = slices.Clone(usualPolicy)
	}
	e.Quiet = time.Duration(v.Key("Quiet").Int()) * time.Second
	e.Place = v.Key("Bucket").Place()
	e.Place.Path = v.Key("Bucket").Path()
}

// Exports reports whether files of the link's directory go to its bucket.
func (r DataRepository) Exports() bool { return len(r.AutoExport) > 0 }

// checkExports checks rows against each other, and against what FSx for Lustre exports of
// the cluster, which may be nil.
func checkExports(list View, w *Workload, c *Cluster, mounts []string) {
	for i, row := range list.Items() {
		if i >= len(w.Exports) {
			return
		}
		checkBucketName(row.Key("Bucket"))
		prefixed := checkPrefix(row.Key("Prefix"))
		if !checkExported(row.Key("Directory"), mounts) || !prefixed || !row.Key("Bucket").Given() {
			continue
		}
		e := w.Exports[i]
		checkKeep(row, e)
		checkForeign(row.Key("Bucket"), e, w, c)
		for j, other := range w.Exports[:min(i, maxReported)] {
			checkBesideExport(row, e, other, list.Items()[j].Line())
		}
		checkBesideLinks(row, e, c)
	}
}

// checkExported reports whether a directory can be exported.
func checkExported(v View, mounts []string) bool {
	if !checkDirectory(v, mounts) {
		return false
	}
	if strings.Contains(v.Text(), modelPlaceholder) {
		v.Errorf("workload/export", "%s stands for nothing in an export", modelPlaceholder).
			WithHint("export the directory that the models' are in")
		return false
	}
	return true
}

func checkPrefix(v View) bool {
	switch text := v.Text(); {
	case !v.Present():
	case !v.Given(): // the schema's table says what it may be made of
		return false
	case slices.ContainsFunc(strings.Split(strings.Trim(text, "/"), "/"), func(part string) bool { return part == "." || part == ".." }),
		strings.Contains(text, "//"):
		v.Errorf("workload/export", "the prefix %s is no path", quote(text)).WithHint("write names with slashes between them, such as team/checkpoints")
		return false
	}
	return true
}

// checkKeep reports a retention that could delete nothing.
func checkKeep(row View, e Export) {
	if e.KeepEvery > 0 && e.KeepLast == 0 {
		row.Key("KeepEvery").Errorf("workload/export", "KeepEvery without KeepLast keeps everything").
			WithHint("add KeepLast: how many of the newest checkpoints stay whatever their step is")
	}
}

// checkForeign says who makes a bucket. The cluster's own objects are for nobody to write.
func checkForeign(v View, e Export, w *Workload, c *Cluster) {
	if c != nil && c.CustomS3Bucket == e.Bucket {
		v.Errorf("workload/export", "%s is CustomS3Bucket, which has the cluster's own objects", quote(e.Bucket)).
			WithHint("export to a bucket of its own")
		return
	}
	if slices.Contains(w.Buckets, e.Bucket) || c != nil && slices.ContainsFunc(c.SharedStorage, func(s SharedStorage) bool {
		return slices.ContainsFunc(s.Repositories, func(r DataRepository) bool { return r.Bucket == e.Bucket })
	}) {
		return
	}
	v.Infof("workload/export", "nothing here makes the bucket %s: on AWS it has to be there", quote(e.Bucket)).
		WithHint("add it to Buckets to have it made")
}

// checkBesideExport reports two rows that would write the same objects, or send a file twice.
func checkBesideExport(row View, e, other Export, line int) {
	switch {
	case within(e.Directory+"/", other.Directory+"/"):
		row.Key("Directory").Errorf("workload/export", "%s and %s of line %d lie in each other", e.Directory, other.Directory, line).
			WithHint("export each file once")
	case e.Bucket == other.Bucket && within(e.Prefix, other.Prefix):
		row.Key("Bucket").Errorf("workload/export", "the objects of this export and of the one in line %d lie in each other in %s", line, e.Bucket).
			WithHint("give each a Prefix of its own, such as %s/", path.Base(e.Directory))
	}
}

// checkBesideLinks reports what FSx for Lustre exports already.
func checkBesideLinks(row View, e Export, c *Cluster) {
	if c == nil {
		return
	}
	for _, s := range c.SharedStorage {
		for _, r := range s.Repositories {
			switch {
			case !r.Exports():
			case within(e.Directory+"/", strings.TrimSuffix(r.Dir, "/")+"/"):
				row.Key("Directory").Errorf("workload/export", "FSx exports %s to s3://%s/%s already", r.Dir, r.Bucket, r.Prefix).
					WithHint("remove this export, or AutoExportPolicy in the cluster file")
			case e.Bucket == r.Bucket && within(e.Prefix, r.Prefix):
				row.Key("Bucket").Errorf("workload/export", "FSx exports %s to s3://%s/%s: these objects lie in each other", r.Dir, r.Bucket, r.Prefix).
					WithHint("give another Prefix")
			}
		}
	}
}

// within says that one of two paths with slashes at their ends is the other, or lies in it.
func within(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
