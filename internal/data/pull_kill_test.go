package data_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// pullChild names, for a process that is to be killed, the directory that it pulls to.
const pullChild = "MUSTER_TEST_PULL"

// TestPullOfAChild is what such a process does. Otherwise it is nothing.
func TestPullOfAChild(t *testing.T) {
	dir := os.Getenv(pullChild)
	if dir == "" {
		return
	}
	var at struct{ Endpoint, Credentials string }
	fine(t, json.NewDecoder(os.Stdin).Decode(&at))
	c := store.Config{Endpoint: at.Endpoint, Region: "us-east-1", CredentialsFile: at.Credentials}
	if got := pulled(t, real(t, c), "set", dir); got.Problems.All != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestPullIsKilled kills a pull many times, each at another of its requests, and lets it go on. At every moment what has a
// name is whole, and in the end all is there and nothing else.
func TestPullIsKilled(t *testing.T) {
	_, config := storetest.Stand(t)
	files := mixed()
	files.put(t, real(t, config), "set")
	proxy, config := faults.New(t, config)
	at, err := json.Marshal(struct{ Endpoint, Credentials string }{config.Endpoint, config.CredentialsFile})
	fine(t, err)
	chance := rand.New(rand.NewPCG(15, 1))
	dir, kills := t.TempDir(), 0
	for run := 0; run < 40; run++ {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPullOfAChild$")
		cmd.Env, cmd.Stdin = append(os.Environ(), pullChild+"="+dir), bytes.NewReader(at)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		var left atomic.Int64
		left.Store(4 + chance.Int64N(10)) // the bucket, the head and the manifest come first
		proxy.Do(func(*http.Request) faults.Fault {
			if left.Add(-1) == 0 {
				_ = cmd.Process.Kill()
			}
			return faults.Fault{}
		})
		fine(t, cmd.Start())
		err := cmd.Wait()
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() >= 0 {
			t.Fatalf("it ended by itself: %v\n%s", err, &said)
		}
		kills++
		isPartOf(t, dir, files)
	}
	if kills < 4 {
		t.Errorf("it was killed %d times", kills)
	}
	proxy.Do(nil)
	pulled(t, real(t, config), "set", dir)
	files.is(t, dir)
}

// isPartOf holds that what has its name in a directory is whole.
func isPartOf(t *testing.T, dir string, files stock) {
	t.Helper()
	fine(t, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".muster-") && strings.HasSuffix(d.Name(), ".tmp") {
			return err
		}
		path, _ := filepath.Rel(dir, at)
		body, err := os.ReadFile(at)
		if want, ok := files[path]; !ok || !bytes.Equal(body, want) {
			t.Errorf("%s is torn", path)
		}
		return err
	}))
}
