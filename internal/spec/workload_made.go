package spec

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

func (f *FileSystem) build(v View) {
	v.fill(f)
	f.MountDir = mountDir(v.Key("MountDir"))
}

// Storage is the file system as nodes see it.
func (f FileSystem) Storage() SharedStorage {
	return SharedStorage{Name: f.Name, MountDir: f.MountDir, Kind: f.Kind, DeletionPolicy: f.DeletionPolicy}
}

// With is the cluster with the file systems of muster.yaml beside its own.
func (c *Cluster) With(w *Workload) *Cluster {
	both := *c
	both.SharedStorage = slices.Clone(c.SharedStorage)
	for _, f := range w.FileSystems {
		both.SharedStorage = append(both.SharedStorage, f.Storage())
	}
	return &both
}

// zfsThroughput is what can be bought of FSx for OpenZFS, in MB/s.
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemOpenZFSConfiguration.html
func zfsThroughput(deployment string) []int {
	switch deployment {
	case "SINGLE_AZ_1", "SINGLE_AZ_HA_1":
		return []int{64, 128, 256, 512, 1024, 2048, 3072, 4096}
	}
	return []int{160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240}
}

// checkFileSystems checks them against each other and against those of the
// cluster, which may be nil.
func checkFileSystems(list View, c *Cluster) {
	var names, mounts unique
	var dirs []View
	for _, f := range list.Items() {
		name, mount := f.Key("Name"), f.Key("MountDir")
		checkStorageName(name)
		names.check(name, "workload/duplicate")
		if free := besideFile(name, mount, c); free && checkMountDir(mount) && mounts.checkAs(mountDir(mount), mount, "workload/duplicate") == nil {
			dirs = append(dirs, mount)
		}
		checkThroughput(f)
	}
	checkOverlaps(dirs, nil)
}

// besideFile reports whether the mount collides with none of the cluster file,
// which may be nil. It says what collides.
func besideFile(name, mount View, c *Cluster) bool {
	if c == nil {
		return true
	}
	free := true
	for _, s := range c.SharedStorage {
		if name.Given() && name.Text() == s.Name {
			name.Errorf("workload/duplicate", "the cluster file has shared storage of the name %s", quote(s.Name)).
				WithHint("choose another name")
		}
		dir := mountDir(mount)
		switch {
		case !mount.Given():
		case dir == s.MountDir:
			free = false
			mount.Errorf("workload/duplicate", "the cluster file mounts %s on %s", quote(s.Name), dir).
				WithHint("choose another directory")
		case strings.HasPrefix(dir, s.MountDir+"/"), strings.HasPrefix(s.MountDir, dir+"/"):
			free = false
			mount.Errorf("storage/overlap", "%s and %s of the cluster file lie in each other", dir, s.MountDir).
				WithHint("give storage directories side by side, such as /data and /logs")
		}
	}
	return free
}

func checkThroughput(f View) {
	kind, throughput := f.Key("DeploymentType"), f.Key("ThroughputCapacity")
	if !kind.Given() || !throughput.Given() {
		return
	}
	if all := zfsThroughput(kind.Text()); !slices.Contains(all, throughput.Int()) {
		var words []string
		for _, n := range all {
			words = append(words, strconv.Itoa(n))
		}
		throughput.Errorf("workload/throughput", "%s has no ThroughputCapacity of %d MB/s", kind.Text(), throughput.Int()).
			WithHint("use one of %s", strings.Join(words, ", "))
	}
}

// checkBuckets holds S3's rules for names that a pattern cannot say.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
func checkBuckets(list View) {
	seen := map[string]bool{}
	for _, b := range list.Items() {
		name := b.Text()
		if b.Given() && seen[name] {
			b.Errorf("workload/duplicate", "the bucket %s is here twice", quote(name)).WithHint("remove one of them")
		} else {
			checkBucketName(b)
		}
		seen[name] = true
	}
}

func checkBucketName(b View) {
	if !b.Given() {
		return
	}
	if name := b.Text(); reservedBucket(name) {
		b.Errorf("workload/bucket", "S3 takes no bucket of the name %s", quote(name)).
			WithHint("use small letters, digits and hyphens, such as training-data-jakarta")
	}
}

// NewBucket reports whether S3 may make a bucket of the name: older ones may have others.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
func NewBucket(name string) bool { return bucketName().MatchString(name) && !reservedBucket(name) }

func reservedBucket(name string) bool {
	_, notAddress := netip.ParseAddr(name)
	return strings.Contains(name, "..") || notAddress == nil || strings.HasPrefix(name, "xn--") || strings.HasPrefix(name, "sthree-") ||
		strings.HasSuffix(name, "-s3alias") || strings.HasSuffix(name, "--ol-s3") || strings.HasSuffix(name, "--x-s3")
}

func checkGrafana(g View) {
	if !g.Given() || !g.Key("Enabled").Bool() {
		return
	}
	from := g.Key("AllowedIps")
	switch {
	case !from.Present():
		g.Errorf("workload/grafana", "nothing says who may see the dashboards").
			WithHint("add AllowedIps with your network, such as 203.0.113.0/24")
	case from.Given() && from.Text() == "0.0.0.0/0":
		from.Warnf("workload/grafana", "everybody on the internet may try to log in").
			WithHint("give your own network, such as 203.0.113.0/24")
	}
}
