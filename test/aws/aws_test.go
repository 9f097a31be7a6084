// Package aws tries the whole product on the double of AWS: the real muster, killed
// and disturbed, and machines that boot what it launched.
package aws

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programsVar names the folder with the programs, if they are built already.
const programsVar = "MUSTER_PROGRAMS"

// programs is the folder with muster and muster-cloud as they are now. TestMain
// removes it if it was made here.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(programsVar); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "muster-aws-")
	if err != nil {
		return "", err
	}
	for name, of := range map[string]string{"muster": "./cmd/muster", "muster-cloud": "./test/cloud/muster-cloud"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), of)
		build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

// built says that programs were wanted.
var built sync.Once

// atOnce is how many tests run at the same time: they wait much and compute little.
const atOnce = 4

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	code := m.Run()
	wanted := true
	built.Do(func() { wanted = false })
	if wanted && os.Getenv(programsVar) == "" {
		if dir, _ := programs(); dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// program is the path of one of the programs.
func program(t *testing.T, name string) string {
	t.Helper()
	built.Do(func() {})
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// needMachines skips a test where machines cannot boot. In CI it fails.
func needMachines(t *testing.T) {
	t.Helper()
	lacks := ""
	if os.Getuid() != 0 {
		lacks = "root"
	}
	for _, p := range []string{"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/slurmdbd", "/usr/sbin/munged", "/usr/sbin/mariadbd", "/usr/sbin/sshd"} {
		if _, err := os.Stat(p); err != nil && lacks == "" {
			lacks = p
		}
	}
	if lacks != "" && os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("this machine lacks %s", lacks)
	} else if lacks != "" {
		t.Skipf("this machine lacks %s", lacks)
	}
}

// needMoto skips a test where there is no moto for a double in another process. In
// CI it fails.
func needMoto(t *testing.T) {
	t.Helper()
	for _, dir := range []string{os.Getenv("MUSTER_PYTHON"), filepath.Join("..", "..", "bin", "py")} {
		if _, err := os.Stat(filepath.Join(dir, "bin", "moto_server")); dir != "" && err == nil {
			return
		}
	}
	if os.Getenv("MUSTER_CI") != "" {
		t.Fatal("there is no moto_server: make python")
	}
	t.Skip("there is no moto_server: make python")
}

// run runs a program until it ends, and says so if it does not.
func run(ctx context.Context, limit time.Duration, cmd func(context.Context) *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v", limit))
	defer cancel()
	c := cmd(ctx)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 30 * time.Second
	out, err := c.CombinedOutput()
	return out, errors.Join(err, context.Cause(ctx))
}
