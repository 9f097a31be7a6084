package data_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
	"github.com/muster-hpc/muster/test/soak"
)

// pullChild names, for a process that is to be killed, the directory that it pulls to, and pullSet the dataset.
const (
	pullChild = "MUSTER_TEST_PULL"
	pullSet   = "MUSTER_TEST_PULL_SET"
)

// TestPullOfAChild is what such a process does. Otherwise it is nothing.
func TestPullOfAChild(t *testing.T) {
	dir := os.Getenv(pullChild)
	if dir == "" {
		return
	}
	var at struct{ Endpoint, Credentials string }
	fine(t, json.NewDecoder(os.Stdin).Decode(&at))
	c := store.Config{Endpoint: at.Endpoint, Region: "us-east-1", CredentialsFile: at.Credentials}
	if got := pulled(t, real(t, c), os.Getenv(pullSet), dir); got.Problems.All != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestPullIsKilled(t *testing.T) { pullsAreKilled(t, 12) }

func TestSoak_pulls_are_killed(t *testing.T) {
	soak.Only(t, "200 kills; TestPullIsKilled has 12")
	pullsAreKilled(t, 200)
}

// pullsAreKilled has pulls end by SIGKILL at random requests, while those before are at any step, and lets them go on: of
// one dataset, and then of another over its files. At every moment what has a name is whole, in the end all is there and
// nothing else, and neither a file nor a part of a file that had come was fetched again.
func pullsAreKilled(t *testing.T, kills int) {
	t.Helper()
	_, stand := storetest.Stand(t)
	for name, config := range map[string]store.Config{"stand": stand, "second": storetest.Second(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket, sets := real(t, config), []stock{ofParts(0), ofParts(1)}
			for i, set := range sets {
				set.putInParts(t, bucket, fmt.Sprint("set", i), "large", smallPart)
			}
			proxy, config := faults.New(t, config)
			at, err := json.Marshal(struct{ Endpoint, Credentials string }{config.Endpoint, config.CredentialsFile})
			fine(t, err)
			k := &killing{t: t, proxy: proxy, at: at, chance: rand.New(rand.NewPCG(15, 1)), sets: sets, dir: t.TempDir()}
			for n := 0; k.kills < kills; n = 1 - n {
				for !k.pull(n) {
					if k.kills++; t.Failed() || k.kills > 2*kills+100 {
						t.Fatalf("killed %d times, and the last pull does not come to its end", k.kills)
					}
				}
				sets[n].is(t, k.dir)
			}
		})
	}
}

const smallPart = 128 << 10 // bytes, so that a file that goes in parts is a small one

// ofParts is a stock with small files, and one that goes in parts. No two versions have a size in common.
func ofParts(version int) stock {
	files := stock{"large": random(uint64(100+version), 2*mebi+version)}
	for i := range 40 {
		files[fmt.Sprintf("dir%d/file%d", i%4, i)] = random(uint64(50*version+i), 1+version+i*i*100)
	}
	return files
}

// putInParts puts a dataset one of whose files is proven in parts of so many bytes.
func (s stock) putInParts(t *testing.T, bucket store.Store, prefix, path string, partBytes int) {
	t.Helper()
	records := s.objects(t, bucket, prefix)
	for i := range records {
		if r := &records[i]; r.Path == path {
			r.PartBytes = int64(partBytes)
			for part := range slices.Chunk(s[path], partBytes) {
				sums, err := store.Sum(bytes.NewReader(part), int64(len(part)))
				fine(t, err)
				r.Parts = append(r.Parts, sums.CRC64NVME)
			}
		}
	}
	s.commit(t, bucket, prefix, manifest.Whole, records)
}

// killing is a directory that pulls are killed over.
type killing struct {
	t      *testing.T
	proxy  *faults.Proxy
	at     []byte
	chance *rand.Rand
	sets   []stock
	dir    string
	kills  int
}

// pull pulls one of the sets, and may be killed meanwhile. It tells whether the pull came to its end.
func (k *killing) pull(n int) bool {
	k.t.Helper()
	here := k.here(n)
	set := fmt.Sprint("set", n)
	cmd := exec.CommandContext(k.t.Context(), os.Args[0], "-test.run=^TestPullOfAChild$")
	cmd.Env, cmd.Stdin = append(os.Environ(), pullChild+"="+k.dir, pullSet+"="+set), bytes.NewReader(k.at)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	var mu sync.Mutex // guards left, and cmd until it runs
	left := 1 + k.chance.IntN(40)
	k.proxy.Do(func(r *http.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		path, _ := strings.CutPrefix(r.URL.Path, "/bucket/"+set+"/")
		if here[path] || here[path+" "+r.Header.Get("Range")] {
			k.t.Errorf("%s %s was there, and is fetched again", path, r.Header.Get("Range"))
		}
		if left--; left == 0 {
			_ = cmd.Process.Kill()
		}
		return faults.Fault{}
	})
	mu.Lock()
	err := cmd.Start()
	mu.Unlock()
	fine(k.t, err)
	if err = cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() >= 0 {
		k.t.Fatalf("it ended by itself: %v\n%s", err, &said)
	}
	return err == nil
}

// here holds that what has its name in the directory is whole, and returns what there is of a set: files, and those parts
// of one that is not whole that are.
func (k *killing) here(n int) map[string]bool {
	k.t.Helper()
	isPartOf(k.t, k.dir, k.sets...)
	there := map[string]bool{}
	for path, want := range k.sets[n] {
		body, err := os.ReadFile(filepath.Join(k.dir, path))
		there[path] = err == nil && bytes.Equal(body, want)
	}
	if text, err := os.ReadFile(filepath.Join(k.dir, manifest.Beside("large"))); err == nil {
		k.parts(n, text, there)
	}
	return there
}

// parts notes the parts of the large file of a set that are in a text, by the ranges that they would be asked for with.
func (k *killing) parts(n int, have []byte, there map[string]bool) {
	want := k.sets[n]["large"]
	for from := 0; from < len(want); from += smallPart {
		end := min(from+smallPart, len(want))
		if len(have) >= end && bytes.Equal(have[from:end], want[from:end]) {
			there[fmt.Sprintf("large bytes=%d-%d", from, end-1)] = true
		}
	}
}

// isPartOf holds that what has its name in a directory is whole, as one of some stocks has it.
func isPartOf(t *testing.T, dir string, of ...stock) {
	t.Helper()
	fine(t, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || manifest.Leftover(d.Name()) {
			return err
		}
		path, _ := filepath.Rel(dir, at)
		body, err := os.ReadFile(at)
		if !slices.ContainsFunc(of, func(s stock) bool { want, ok := s[path]; return ok && bytes.Equal(body, want) }) {
			t.Errorf("%s is torn", path)
		}
		return err
	}))
}
