package spec

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// reserved are directories that ParallelCluster does not mount over.
var reserved = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/media", "/mnt", "/opt", "/opt/parallelcluster",
	"/opt/parallelcluster/shared", "/opt/parallelcluster/shared_login_nodes", "/opt/slurm", "/opt/intel", "/proc",
	"/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/NONE", "/",
}

func checkStorage(root View) {
	var names, mounts unique
	var dirs []View
	for _, s := range root.Key("SharedStorage").Items() {
		checkStorageName(s.Key("Name"))
		names.check(s.Key("Name"), "storage/duplicate")
		mount := s.Key("MountDir")
		if checkMountDir(mount) && mounts.checkAs(mountDir(mount), mount, "storage/duplicate") == nil {
			dirs = append(dirs, mount)
		}
		checkStorageSettings(s)
		checkRepositories(s)
	}
	checkOverlaps(dirs, scratchDirs(root))
}

var storageName = pattern.New(`^[\p{L}\p{N}_.:/=+\-@]+$`)

// maxStorageName is ParallelCluster's limit in characters.
const maxStorageName = 30

func checkStorageName(v View) {
	if !v.Present() || v.node.kind != scalar {
		return
	}
	name := v.Text()
	switch n := utf8.RuneCountInString(name); {
	case name == "default":
		v.Errorf("storage/name", "the name %s is reserved", quote(name)).WithHint("choose another name")
	case !storageName().MatchString(name) || strings.ContainsFunc(name, breaksLine):
		v.Errorf("storage/name", "%s cannot be a name", quote(name)).WithHint("use letters, digits and _ . : / = + - @")
	case n > maxStorageName:
		v.Errorf("storage/name", "the name %s has %d characters", quote(name), n).
			WithHint("ParallelCluster allows %d", maxStorageName)
	}
}

// mountDir is a mount point as an absolute, clean path.
func mountDir(v View) string { return path.Clean("/" + v.Text()) }

// checkMountDir reports whether a mount point can be used.
func checkMountDir(v View) bool {
	if !v.Present() || v.node.kind != scalar || v.Text() == "" {
		return false
	}
	if strings.ContainsFunc(v.Text(), breaksLine) {
		v.Errorf("storage/mount", "the mount directory has a line break or control character")
		return false
	}
	if dir := mountDir(v); slices.Contains(reserved, dir) {
		v.Errorf("storage/mount", "%s is the system's own and cannot be mounted over", dir).WithHint("choose another directory, for example /shared")
		return false
	}
	warnOwnPlace(v)
	return true
}

// checkStorageSettings holds that the settings are those of the storage type,
// and that a file system that exists already is not described again.
func checkStorageSettings(s View) {
	kind := s.Key("StorageType").Text()
	right := kind + "Settings"
	if s.field.children[right] == nil {
		return
	}
	for _, key := range s.field.names {
		if settings := s.Key(key); strings.HasSuffix(key, "Settings") && settings.Present() && !settings.node.empty() && key != right {
			settings.Errorf("storage/settings", "%s does not go with StorageType: %s", key, kind).
				WithHint("use %s, or change StorageType", right)
		}
	}
	settings := s.Key(right)
	if need := settings.field.needed(); need != "" && !settings.Present() {
		s.Errorf("storage/settings", "StorageType: %s needs %s with %s", kind, right, need).
			WithHint("ParallelCluster mounts what exists of this type, and makes none")
	}
	if !settings.Present() || settings.field.children["FileSystemId"] == nil || !settings.Key("FileSystemId").Present() {
		return
	}
	for _, e := range settings.node.entries {
		if !slices.Contains([]string{"FileSystemId", "EncryptionInTransit", "IamAuthorization", "AccessPointId"}, e.key) && settings.field.children[e.key] != nil {
			settings.Key(e.key).Errorf("storage/settings", "%s cannot be set for a file system that exists", e.key).
				WithHint("remove it, or remove FileSystemId")
		}
	}
}

// needed is the first key that a map must have; empty is none.
func (f *field) needed() string {
	for _, name := range f.names {
		if f.children[name].Required == "Y" {
			return name
		}
	}
	return ""
}

// scratchDirs are the mount points of the nodes' own disks that the file gives.
func scratchDirs(root View) []View {
	dirs := []View{root.Key("HeadNode").Key("LocalStorage")}
	for _, q := range root.Key("Scheduling").Key("SlurmQueues").Items() {
		dirs = append(dirs, q.Key("ComputeSettings").Key("LocalStorage"))
	}
	seen := map[string]bool{}
	var out []View
	for _, d := range dirs {
		v := d.Key("EphemeralVolume").Key("MountDir")
		if checkMountDir(v) && !seen[mountDir(v)] {
			seen[mountDir(v)] = true
			out = append(out, v)
		}
	}
	return out
}

// checkOverlaps reports mount points inside of others. The nodes' own disks
// may share a mount point with each other. Far more directories than a node
// can mount are not compared.
func checkOverlaps(shared, scratch []View) {
	shared, scratch = shared[:min(len(shared), maxReported)], scratch[:min(len(scratch), maxReported)]
	for i, v := range shared {
		for _, other := range shared[:i] {
			checkOverlap(v, other)
		}
	}
	for _, v := range scratch {
		for _, other := range shared {
			if mountDir(v) == mountDir(other) {
				v.Warnf("storage/mount", "%s is the nodes' own disk here and shared storage in line %d", mountDir(v), other.Line()).
					WithHint("choose another directory")
				continue
			}
			checkOverlap(v, other)
		}
	}
}

func checkOverlap(v, other View) {
	a, b := mountDir(v), mountDir(other)
	if strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") {
		v.Errorf("storage/overlap", "%s and %s lie in each other", a, b).
			WithHint("give storage directories side by side, such as /data and /logs")
	}
}

// checkRepositories checks the S3 links of a Lustre file system.
func checkRepositories(s View) {
	lustre := s.Key("FsxLustreSettings")
	for _, key := range []string{"ImportPath", "ExportPath"} {
		checkURI(lustre.Key(key))
	}
	var names, dirs unique
	for _, r := range lustre.Key("DataRepositoryAssociations").Items() {
		checkURI(r.Key("DataRepositoryPath"))
		checkStorageName(r.Key("Name"))
		names.check(r.Key("Name"), "storage/duplicate")
		dirs.checkAs(path.Clean("/"+r.Key("FileSystemPath").Text()), r.Key("FileSystemPath"), "storage/duplicate")
	}
}

func checkURI(v View) {
	if !v.Present() || v.node.kind != scalar {
		return
	}
	if _, _, ok := parseURI(v.Text()); !ok {
		v.Errorf("storage/repository", "%s is no S3 location", quote(v.Text())).WithHint("%s", uriHint(v.Text()))
	}
}

// uriHint says how a location is written, or what its bucket may be called.
func uriHint(uri string) string {
	rest, ok := strings.CutPrefix(uri, "s3://")
	if bucket, _, _ := strings.Cut(rest, "/"); ok && bucket != "" && !bucketName().MatchString(bucket) {
		return "a bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens"
	}
	return "write s3://bucket or s3://bucket/prefix/"
}

var bucketName = pattern.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// parseURI splits s3://bucket/prefix. The prefix ends in a slash unless it is
// empty. Names that a file system could not hold are refused.
func parseURI(uri string) (bucket, prefix string, ok bool) {
	rest, ok := strings.CutPrefix(uri, "s3://")
	if !ok || strings.ContainsFunc(rest, breaksLine) {
		return "", "", false
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimSuffix(prefix, "/")
	if !bucketName().MatchString(bucket) || strings.Contains(bucket, "..") {
		return "", "", false
	}
	if prefix == "" {
		return bucket, "", true
	}
	for name := range strings.SplitSeq(prefix, "/") {
		if name == "" || name == "." || name == ".." {
			return "", "", false
		}
	}
	return bucket, prefix + "/", true
}
