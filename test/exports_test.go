package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExports tries to keep the mirror of a cluster from its work.
func TestExports(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(1)+dataFile)
	c.file("muster.yaml", "Exports: [{Directory: /fsx1/logs, Bucket: whole-logs, Prefix: team}]\n")
	c.must("up", "--no-test", "cluster.yaml")
	whatMusterYAMLExports(c)
	blockedFilesHoldUpNobody(c)
	downWaitsForAnUpload(c)
	downSaysWhatIsNotThere(c)
}

// whatMusterYAMLExports brings a file of a directory that the cluster file links with nothing
// to the bucket that muster.yaml names.
func whatMusterYAMLExports(c *cluster) {
	c.t.Helper()
	if err := os.WriteFile(c.path("shared", "fsx1", "logs", "run.txt"), []byte("all went well"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	if out := c.must("data", "export", "--wait", "/fsx1/logs"); !strings.HasPrefix(out, "/fsx1/logs -> s3://whole-logs/team/  1 of 1 file verified") {
		c.t.Errorf("it says %q", out)
	}
	if got, err := os.ReadFile(c.path("s3", "whole-logs", "team", "run.txt")); err != nil || string(got) != "all went well" {
		c.t.Errorf("the bucket has %q, %v", got, err)
	}
}

// lay puts a file on the results' file system.
func (c *cluster) lay(name, text string) {
	c.t.Helper()
	path := c.path("shared", "fsx2", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// arrives waits until a file is in the bucket.
func (c *cluster) arrives(name, text string) {
	c.t.Helper()
	c.await(name+" is in the bucket", time.Minute, func() bool {
		got, err := os.ReadFile(c.path("s3", "whole-results", name))
		return err == nil && string(got) == text
	})
}

// mirrored is what status says of the results.
type mirrored struct {
	Path         string
	Pending      int
	PendingBytes int64 `json:"pending_bytes"`
	Blocked      int
	BlockedFiles []struct{ Path, Reason string } `json:"blocked_files"`
	Waiting      []struct{ Path string }
	LastSuccess  time.Time `json:"last_success"`
	Error        string
}

func (c *cluster) mirrored() mirrored {
	c.t.Helper()
	var answer struct {
		Clusters []struct{ Exports []mirrored }
	}
	if r := c.run("status", "-o", "json"); json.Unmarshal([]byte(r.stdout), &answer) != nil || len(answer.Clusters) != 1 {
		c.t.Fatalf("status says %s", r.stdout)
	}
	for _, e := range answer.Clusters[0].Exports {
		if e.Path == "/fsx2" {
			return e
		}
	}
	c.t.Fatal("status says nothing of /fsx2")
	return mirrored{}
}

// blockedFilesHoldUpNobody: directories took the place of files, which the S3 server cannot have both of.
func blockedFilesHoldUpNobody(c *cluster) {
	c.t.Helper()
	const many = 8
	for i := range many {
		c.lay(fmt.Sprintf("b%d", i), "a file")
	}
	for i := range many {
		c.arrives(fmt.Sprintf("b%d", i), "a file")
	}
	for i := range many {
		name := fmt.Sprintf("b%d", i)
		if err := os.Remove(c.path("shared", "fsx2", name)); err != nil {
			c.t.Fatal(err)
		}
		c.lay(name+"/x", "below")
	}
	c.await("they are known to be blocked", time.Minute, func() bool { return c.mirrored().Blocked == many })
	c.lay("run/checkpoint-2/model\x01.bin", "weights")
	c.lay("run/latest", "checkpoint-2")
	c.arrives("run/checkpoint-2/model\x01.bin", "weights")
	c.arrives("run/latest", "checkpoint-2")
	c.await("nothing else waits", time.Minute, func() bool { return c.mirrored().Pending == many })
	if e := c.mirrored(); e.Blocked != many || !strings.Contains(e.BlockedFiles[0].Reason, "ObjectParentIsFile") || e.LastSuccess.IsZero() {
		c.t.Errorf("status says %+v", e)
	}
	if r := c.run("status"); r.code != 3 || !strings.Contains(r.stdout, "8 files cannot be exported: b0/x: ") {
		c.t.Errorf("exit code %d: %s", r.code, r.stdout)
	}
	for i := range many {
		if err := os.RemoveAll(c.path("shared", "fsx2", fmt.Sprintf("b%d", i))); err != nil {
			c.t.Fatal(err)
		}
	}
}

// downWaitsForAnUpload: what was just written is in the bucket when down ends.
func downWaitsForAnUpload(c *cluster) {
	c.t.Helper()
	const size = 300 << 20
	c.lay("large.bin", "")
	if err := os.Truncate(c.path("shared", "fsx2", "large.bin"), size); err != nil {
		c.t.Fatal(err)
	}
	if r := c.run("down", "--yes"); r.code != 0 {
		c.t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if info, err := os.Stat(c.path("s3", "whole-results", "large.bin")); err != nil || info.Size() != size {
		c.t.Errorf("in the bucket is %v, %v", info, err)
	}
	c.must("up", "--no-test", "cluster.yaml")
}

// downSaysWhatIsNotThere: the S3 server hangs.
func downSaysWhatIsNotThere(c *cluster) {
	c.t.Helper()
	c.await("nothing waits", time.Minute, func() bool { e := c.mirrored(); return e.Pending == 0 && !e.LastSuccess.IsZero() })
	s3 := c.service("s3")
	if s3 == 0 {
		c.t.Fatal("no S3 server runs")
	}
	if err := syscall.Kill(s3, syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	c.lay("run/checkpoint-3/model.bin", "weights 3")
	c.await("status says that it waits", time.Minute, func() bool { e := c.mirrored(); return e.Pending == 1 && e.PendingBytes == 9 })
	r := c.run("down", "--yes", "--quiet", "-o", "json")
	var answer struct {
		NotExported struct {
			Files int
			First []struct{ Path string }
		} `json:"not_exported"`
	}
	err := json.Unmarshal([]byte(r.stdout), &answer)
	if left := answer.NotExported; err != nil || r.code != 3 || left.Files != 1 || len(left.First) != 1 || left.First[0].Path != "/fsx2/run/checkpoint-3/model.bin" {
		c.t.Errorf("exit code %d, %v: %s", r.code, err, r.stdout)
	}
	if !strings.Contains(r.stderr, "1 file is not in the buckets") || !strings.Contains(r.stderr, "/fsx2/run/checkpoint-3/model.bin") {
		c.t.Errorf("down says %s", r.stderr)
	}
	c.noProcessLeft()
	c.must("up", "--no-test", "cluster.yaml")
	c.arrives("run/checkpoint-3/model.bin", "weights 3")
}
