package storetest

import (
	"bufio"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
)

//go:embed second.py
var second string

// Second starts another S3 server than Stand's: ministack's, which has all in memory, knows classes of storage and keys of KMS, compares
// checksums, and believes every signature. It is slow, 10 MB/s. It ends with the test, and also where the test dies without a word. It is the one
// of $MUSTER_PYTHON or of bin/py, where `make python` puts it; where there is none the test is skipped, unless MUSTER_CI is set.
func Second(t *testing.T) store.Config {
	t.Helper()
	cmd := exec.Command(python(t), "-c", second)
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		life.Close()
		cmd.Wait()
	})
	url, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatalf("ministack says nothing: %v", err)
	}
	return store.Config{Endpoint: strings.TrimSpace(url), Region: "us-east-1", CredentialsFile: credentials(t)}
}

// python is that which has ministack.
func python(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MUSTER_PYTHON")
	if dir == "" {
		dir = filepath.Join(moduleRoot(t), "bin", "py")
	}
	program := filepath.Join(dir, "bin", "python")
	_, err := os.Stat(program)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("MUSTER_CI") == "" {
		t.Skipf("needs ministack, which `make python` installs: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}
