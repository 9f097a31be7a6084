package layer_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/image/layer"
)

const memoryEnv = "MUSTER_TEST_MEMORY_DIR"

// raced tells whether the race detector watches, which takes memory of its own.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Many layers at once, large and small files: the process stays small. Another
// process does it, because this one has already been large.
func TestMemoryIsBounded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestMemoryOfOneImport$")
	cmd.Env = append(os.Environ(), memoryEnv+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const most = 250 << 10
	if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; used > most && !raced() {
		t.Errorf("an import takes %d KiB, more than %d", used, most)
	} else {
		t.Logf("an import takes %d KiB", used)
	}
}

// TestMemoryOfOneImport is the other process's part.
func TestMemoryOfOneImport(t *testing.T) {
	dir := os.Getenv(memoryEnv)
	if dir == "" {
		return
	}
	debug.SetMemoryLimit(160 << 20)
	c, err := layer.Open(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	const layers = 24
	digests := make([]string, layers)
	var all sync.WaitGroup
	for n := range digests {
		digests[n] = fmt.Sprintf("sha256:%064x", n)
		all.Go(func() {
			opener := func(context.Context) (io.ReadCloser, error) { return generated(n), nil }
			err := c.Build(t.Context(), opener, layer.Descriptor{Digest: digests[n]}, layer.BuildOptions{})
			if err == nil || !strings.Contains(err.Error(), "wrong digest: it is sha256:") {
				t.Errorf("got %v", err)
				return
			}
			_, digests[n], _ = strings.Cut(err.Error(), "it is ")
			if err := c.Build(t.Context(), opener, layer.Descriptor{Digest: digests[n]}, layer.BuildOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	out, err := os.Create(filepath.Join(dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := layer.Assemble(t.Context(), c, digests, nil, layer.Options{}, out)
	if err != nil || r.Entries < 100_000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// generated streams a tar of one large file and many small ones that is never
// in memory.
func generated(n int) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		t := tar.NewWriter(w)
		source := rand.New(rand.NewPCG(uint64(n), 3))
		block := make([]byte, 64<<10)
		t.WriteHeader(&tar.Header{Name: fmt.Sprintf("large/%d", n), Mode: 0o644, Size: 256 * int64(len(block))})
		for range 256 {
			for i := range 2000 {
				block[i*30] = byte(source.Uint32())
			}
			t.Write(block)
		}
		for i := range 5000 {
			body := fmt.Sprintf("%d %d", n, i)
			t.WriteHeader(&tar.Header{Name: fmt.Sprintf("usr/lib/python3/dist-packages/package-%d/module-%d/file-%d.py", n, i/50, i), Mode: 0o644, Size: int64(len(body))})
			io.WriteString(t, body)
		}
		w.CloseWithError(t.Close())
	}()
	return r
}
