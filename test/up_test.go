package test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const dataFile = `SharedStorage:
- Name: data
  MountDir: /fsx1
  StorageType: FsxLustre
  FsxLustreSettings:
    StorageCapacity: 1200
    DeploymentType: PERSISTENT_2
    PerUnitStorageThroughput: 125
    DataRepositoryAssociations:
    - {Name: sets, FileSystemPath: /datasets, DataRepositoryPath: s3://whole-data/sets, BatchImportMetaDataOnCreate: true, AutoImportPolicy: [NEW, CHANGED]}
- Name: results
  MountDir: /fsx2
  StorageType: FsxLustre
  FsxLustreSettings:
    StorageCapacity: 1200
    DeploymentType: PERSISTENT_2
    PerUnitStorageThroughput: 125
    DataRepositoryAssociations:
    - {Name: results, FileSystemPath: /, DataRepositoryPath: s3://whole-results, AutoExportPolicy: [NEW, CHANGED]}
`

const workloadFile = `Models:
- {Name: small, Nodes: 1}
- {Name: large, Nodes: 2}
Directories:
- {Path: /fsx1/datasets, Mode: "0775"}
- {Path: "/fsx2/{model}/checkpoints", Mode: "0750"}
- {Path: "/fsx2/{model}/open", Mode: "1777"}
- {Path: "/fsx2/{model}/group", Mode: "2775"}
`

// TestUp looks at what a cluster offers when it is up, and at what is left of its
// data when it went and came again.
func TestUp(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(2)+dataFile)
	c.file("muster.yaml", workloadFile)
	c.must("up", "cluster.yaml")
	c.each(map[string]func(*testing.T, *cluster){
		"accounts":          accounts,
		"answers_rest":      answersREST,
		"makes_directories": makesDirectories,
		"exports":           exportsFiles,
		"goes_on":           upGoesOn,
	})
	keepsData(c)
}

func accounts(t *testing.T, c *cluster) {
	id := strings.TrimSpace(c.head("sbatch", "--parsable", "--wait", "--job-name=counted", "--output=/dev/null", "--wrap=true"))
	c.await("sacct has the job", 10*time.Second, func() bool {
		return c.head("sacct", "--noheader", "--parsable2", "--allocations", "--format=JobName,State,ExitCode", "--jobs="+id) == "counted|COMPLETED|0:0\n"
	})
	if out := c.head("sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=Cluster,ControlHost"); out != "whole|10.99.0.1\n" {
		t.Errorf("sacctmgr show cluster: %q", out)
	}
}

// slurmrestd answers a request in HTTP on its socket.
func answersREST(t *testing.T, c *cluster) {
	// The data version and the answer's shape depend on Slurm's version.
	script := `
import socket
for version in ("v0.0.38", "v0.0.40", "v0.0.41", "v0.0.42"):
    s = socket.socket(socket.AF_UNIX)
    s.connect("/run/muster/rest/slurmrestd.sock")
    s.sendall(f"GET /slurm/{version}/ping HTTP/1.0\r\n\r\n".encode())
    answer = b""
    while b'"errors"' not in answer and (more := s.recv(4096)):
        answer += more
    if b"200 OK" in answer:
        print(answer.decode())
        break
`
	out := c.head("python3", "-c", script)
	if !strings.Contains(out, "200 OK") || !strings.Contains(out, `"hostname": "whole-head"`) || !strings.Contains(out, `": "UP"`) {
		t.Errorf("got %s", out)
	}
}

func makesDirectories(t *testing.T, c *cluster) {
	for path, mode := range map[string]os.FileMode{
		"/fsx1/datasets":          0o775,
		"/fsx2/small/checkpoints": 0o750,
		"/fsx2/large/checkpoints": 0o750,
		"/fsx2/small/open":        0o777 | os.ModeSticky,
		"/fsx2/small/group":       0o775 | os.ModeSetgid,
	} {
		info, err := os.Stat(c.path("shared", path))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := info.Mode() &^ os.ModeDir; got != mode {
			t.Errorf("%s has mode %s, want %s", path, got, mode)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != uint32(os.Getuid()) {
			t.Errorf("%s belongs to user %d", path, uid)
		}
	}
}

// exportsFiles: what a job writes appears in the bucket with the same bytes.
func exportsFiles(t *testing.T, c *cluster) {
	c.head("srun", "sh", "-c", "head -c 3000000 /dev/urandom >/fsx2/small/checkpoints/weights")
	want, err := os.ReadFile(c.path("shared", "fsx2", "small", "checkpoints", "weights"))
	if err != nil {
		t.Fatal(err)
	}
	c.await("the file is in the bucket", 20*time.Second, func() bool {
		got, err := os.ReadFile(c.path("s3", "whole-results", "small", "checkpoints", "weights"))
		return err == nil && string(got) == string(want)
	})
}

// upGoesOn: an `up` that changes nothing restarts nothing.
func upGoesOn(t *testing.T, c *cluster) {
	h := c.hold("undisturbed")
	before := c.anchor()
	ctld, control := c.service("slurmctld"), c.service("controller")
	c.must("up", "--no-test", "cluster.yaml")
	if c.anchor() != before || c.service("slurmctld") != ctld || c.service("controller") != control {
		t.Error("daemons were started again")
	}
	h.lives()
}

// keepsData: `down` without --delete-data keeps what users made, and the next `up`
// finds it, and imports what has come into the bucket.
func keepsData(c *cluster) {
	c.t.Helper()
	c.head("srun", "sh", "-c", "echo kept >/fsx1/mine")
	last := c.nextJob()
	c.must("down", "--yes")
	c.noProcessLeft()
	left, err := os.ReadDir(c.path())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range left {
		if !slices.Contains([]string{".muster", "links", "made_of", "next_job", "s3", "shared"}, e.Name()) {
			c.t.Errorf("after down there is %s", e.Name())
		}
	}
	text := strings.Repeat("once upon a time\n", 10000)
	if err := os.MkdirAll(c.path("s3", "whole-data", "sets", "text"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(c.path("s3", "whole-data", "sets", "text", "part-1"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	c.must("up", "--no-test", "cluster.yaml")
	if next := c.nextJob(); next != last+1 {
		c.t.Errorf("the first job has ID %d after %d", next, last)
	}
	if out := c.head("cat", "/fsx1/mine"); out != "kept\n" {
		c.t.Errorf("after the next up: %q", out)
	}
	if out := c.head("cat", "/fsx2/small/checkpoints/weights"); len(out) != 3000000 {
		c.t.Errorf("the weights have %d bytes", len(out))
	}
	imported := c.path("shared", "fsx1", "datasets", "text", "part-1")
	c.await("the file is imported", 20*time.Second, exists(imported))
	if data, err := os.ReadFile(imported); err != nil || string(data) != text {
		c.t.Errorf("imported %d bytes of %d, %v", len(data), len(text), err)
	}
}

// nextJob submits a job that does nothing and returns its ID.
func (c *cluster) nextJob() int {
	c.t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(c.head("sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap=true")))
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}
