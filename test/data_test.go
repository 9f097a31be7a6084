package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// datasets: muster data finds the buckets of the cluster that is named from outside, and inside those of the cluster that it
// runs in, with credentials that nobody has to know.
func datasets(t *testing.T, c *cluster) {
	if err := os.MkdirAll(filepath.Join(c.dir, "dataset", "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.file("dataset/a/one", "1")
	c.file("dataset/two", "22")
	r := c.run("data", "push", "--make-bucket", "dataset", "s3://whole-dataset/set")
	if want := "the buckets are those of cluster " + c.name + ", at http://10.99.0.1:9000"; r.code != 0 || !strings.Contains(r.stderr, want) {
		t.Fatalf("push: exit code %d\n%s", r.code, r.stderr)
	}
	c.head("muster", "data", "pull", "s3://whole-dataset/set", "inside")
	c.must("data", "pull", "s3://whole-dataset/set", "outside")
	for _, name := range []string{"inside/a/one", "outside/a/one"} {
		if got := c.read(name); got != "1" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	// A job that begins with no environment finds them, too.
	c.head("srun", "--export=NONE", "/opt/muster/bin/muster", "data", "pull", "s3://whole-dataset/set", "job")
	if got := c.read("job/two"); got != "22" {
		t.Errorf("got %q", got)
	}
}

// cleans: muster data clean looks at the cluster's own file systems.
func cleans(t *testing.T, c *cluster) {
	old := c.path("shared", "fsx2", "left.tmp")
	before := time.Now().Add(-48 * time.Hour)
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if got := c.must("data", "clean", "/fsx2"); !strings.HasSuffix(got, "  /fsx2/left.tmp\n") {
		t.Errorf("got %q", got)
	}
	c.must("data", "clean", "/fsx2", "--delete")
	if _, err := os.Stat(old); err == nil {
		t.Error("it is still there")
	}
}
