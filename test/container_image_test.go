package test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// imagePrograms are what the images of these tests have of this machine, with the
// libraries that they need.
var imagePrograms = []string{"sh", "cat", "ls", "id", "env", "readlink", "sleep", "touch", "hostname", "mkdir", "rm", "stat", "head", "chown", "dd"}

// imageTree is the unpacked tree of an image: a shell, a few programs and
// /etc/os-release.
var imageTree = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	tree := filepath.Join(dir, "tree")
	for _, d := range []string{"usr/bin", "etc", "tmp", "proc", "sys", "dev", "run", "root", "home", "work"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			return "", err
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(tree, "bin")); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"etc/os-release": "ID=tiny\n", "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n",
		"usr/bin/entry": "#!/bin/sh\nexport FROM_ENTRYPOINT=yes\necho the entrypoint speaks\nexec \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o755); err != nil {
			return "", err
		}
	}
	for _, name := range imagePrograms {
		if err := installWithLibraries(name, tree); err != nil {
			return "", err
		}
	}
	return tree, nil
})

// installWithLibraries copies a program of this machine into a tree.
func installWithLibraries(name, tree string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	list, err := exec.Command("ldd", path).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", path, err)
	}
	if err := copyFile(path, filepath.Join(tree, "usr/bin", filepath.Base(name))); err != nil {
		return err
	}
	for _, field := range strings.Fields(string(list)) {
		if !strings.HasPrefix(field, "/") {
			continue
		}
		if err := copyFile(field, filepath.Join(tree, field)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// squash makes an image NAME.sqsh of the tree in the working directory.
func (c *cluster) squash(name string) {
	c.t.Helper()
	tree, err := imageTree()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command("mksquashfs", tree, filepath.Join(c.dir, name+".sqsh"), "-quiet", "-no-progress", "-noappend")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("mksquashfs: %v\n%s", err, out)
	}
}

// layout writes an OCI image layout of the tree, with an environment, a directory
// to work in and an entrypoint.
func (c *cluster) layout(name string) {
	c.t.Helper()
	tree, err := imageTree()
	if err != nil {
		c.t.Fatal(err)
	}
	dir := filepath.Join(c.dir, name)
	layer := tarOf(c.t, tree)
	diff := fmt.Sprintf("sha256:%x", sha256.Sum256(layer))
	config := blob(c.t, dir, mustJSON(c.t, map[string]any{
		"architecture": "amd64", "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": []string{diff}},
		"config": map[string]any{
			"Env":        []string{"PATH=/usr/bin:/bin", "FROM_IMAGE=image", "BOTH=image", "LD_LIBRARY_PATH=/image", "PYTORCH_VERSION=2"},
			"WorkingDir": "/work", "Entrypoint": []string{"/usr/bin/entry"},
		},
	}))
	config["mediaType"] = "application/vnd.oci.image.config.v1+json"
	content := blob(c.t, dir, layer)
	content["mediaType"] = "application/vnd.oci.image.layer.v1.tar"
	manifest := blob(c.t, dir, mustJSON(c.t, map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []any{content},
	}))
	manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
	index := mustJSON(c.t, map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	for file, text := range map[string][]byte{"index.json": index, "oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// blob writes a blob of a layout and describes it.
func blob(t *testing.T, dir string, data []byte) map[string]any {
	t.Helper()
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	path := filepath.Join(dir, "blobs", "sha256", sum)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"digest": "sha256:" + sum, "size": len(data)}
}

// tarOf is a tree as a layer has it.
func tarOf(t *testing.T, tree string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == tree {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		to, _ := os.Readlink(path)
		h, err := tar.FileInfoHeader(info, to)
		if err != nil {
			return err
		}
		h.Name, _ = filepath.Rel(tree, path)
		if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
