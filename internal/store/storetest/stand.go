package storetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

const patience = time.Minute

// Stand starts the real S3 server on a free port of loopback, and stops it after the test. It returns the directory of
// its objects and how to reach it; the caller names the bucket. The program is the one that MUSTER_STAND names, as
// `make test` does. Where that is not set it is built, for each call: a package calls this once. Where it cannot be built the test is skipped, unless MUSTER_CI is set.
func Stand(t *testing.T) (root string, c store.Config) {
	t.Helper()
	dir := t.TempDir()
	program := build(t, dir)
	credentials := credentials(t)
	root = filepath.Join(dir, "objects")
	address := filepath.Join(dir, "address")
	cmd := exec.Command(program, "s3", "--root", root, "--listen", "127.0.0.1:0", "--address-file", address, "--credentials", credentials)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the S3 server ended with %v: %s", err, &stderr)
		}
	})
	return root, store.Config{Endpoint: "http://" + appears(t, address), Region: "us-east-1", CredentialsFile: credentials}
}

// credentials is a file with those that both servers are asked with.
func credentials(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = s3cr3t=/+\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func build(t *testing.T, dir string) string {
	t.Helper()
	if built := os.Getenv("MUSTER_PROGRAMS"); built != "" {
		return filepath.Join(built, "muster-stand")
	}
	program := filepath.Join(dir, "muster-stand")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join(moduleRoot(t), "stand")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return program
	}
	if os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("build the S3 server: %v\n%s", err, out)
	}
	t.Skipf("needs the S3 server of stand/, which cannot be built here: %v\n%s", err, out)
	return ""
}

// moduleRoot is the nearest directory above that has a go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			t.Fatal("find the module's root: ", err)
		}
		dir = filepath.Dir(dir)
	}
}

func appears(t *testing.T, path string) string {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		if text, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(text))
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s did not appear within %s", path, patience)
		}
	}
}
