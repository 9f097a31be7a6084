package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// imageIsBuilt: a Dockerfile becomes an image that runs, and is in the cluster's
// registry.
func imageIsBuilt(t *testing.T, c *cluster) {
	if _, err := exec.LookPath("buildah"); err != nil && os.Getenv("MUSTER_CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	tree, err := imageTree()
	if err != nil {
		t.Fatal(err)
	}
	context := filepath.Join(c.dir, "context")
	if err := os.Mkdir(context, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(context, "tree.tar"), tarOf(t, tree), 0o644); err != nil {
		t.Fatal(err)
	}
	c.file("context/Dockerfile", "FROM scratch\nADD tree.tar /\nARG WORD\nRUN echo $WORD >/made\nENV FROM_IMAGE=built\nWORKDIR /work\n")
	c.must("image", "build", "--tag", "built:v1", "--build-arg", "WORD=hello", context)
	c.builtIsGone()
	out := c.head("srun", "--container-image="+imagesOf(c)+"/built+v1.sqsh", "sh", "-c", "cat /made; echo $FROM_IMAGE; readlink /proc/self/cwd")
	if out != "hello\nbuilt\n/work\n" {
		t.Errorf("got %q", out)
	}
	if out := c.head("srun", "--container-image=10.99.0.1:5000#built:v1", "cat", "/made"); out != "hello\n" {
		t.Errorf("from the registry: %q", out)
	}
	c.file("context/Next", "FROM 10.99.0.1:5000/built:v1\nRUN echo more >>/made\n")
	c.must("image", "build", "--tag", "next", "--file", filepath.Join(context, "Next"), context)
	if out := c.head("srun", "--container-image=10.99.0.1:5000#next", "cat", "/made"); out != "hello\nmore\n" {
		t.Errorf("begun with an image of the registry: %q", out)
	}
	c.must("image", "forward", "--", "buildah", "push", "--quiet", "built:v1", "docker://10.99.0.1:5000/pushed:v2")
	if out := c.head("srun", "--container-image=10.99.0.1:5000#pushed:v2", "cat", "/made"); out != "hello\n" {
		t.Errorf("pushed from here: %q", out)
	}
	if r := c.run("image", "build", "--tag", "broken", "--file", filepath.Join(context, "absent"), context); r.code != 1 {
		t.Errorf("without a Dockerfile: exit code %d\n%s", r.code, r.stderr)
	}
	c.builtIsGone()
	buildEnds(t, c, context)
}

// builtIsGone fails if a build left its folder among the images.
func (c *cluster) builtIsGone() {
	c.t.Helper()
	if left, _ := filepath.Glob(c.path("shared", "*", "containers", "images", ".build-*")); len(left) > 0 {
		c.t.Errorf("a build left %v", left)
	}
}
