package test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/test/soak"
)

func TestPush_is_killed(t *testing.T) { pushesAreKilled(t, 12) }

func TestSoak_pushes_are_killed(t *testing.T) {
	soak.Only(t, "200 kills; TestPush_is_killed has a few")
	pushesAreKilled(t, 200)
}

// pushesAreKilled has `muster data push` end by SIGKILL at random requests: before the server has them, while it
// reads them, when it has done them and nobody knows it. The next one goes on. In the end the dataset is the directory, to
// the byte, and neither a file nor a part of a file that the server had taken was sent a second time.
func pushesAreKilled(t *testing.T, kills int) {
	t.Helper()
	t.Parallel()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	_, stand := storetest.Stand(t)
	t.Run("stand", func(t *testing.T) { pushIsKilled(t, dir, stand, kills, 3) })
	second := storetest.Second(t)
	t.Run("second", func(t *testing.T) { pushIsKilled(t, dir, second, kills, 6) })
}

// pushIsKilled pushes to a server, three times to each prefix. Every so many pushes, the first one among them, there is a new big file, for at
// least three of them: the second server keeps all in memory.
func pushIsKilled(t *testing.T, dir string, server store.Config, kills, bigEvery int) {
	t.Parallel()
	gate := newGate(t, server.Endpoint)
	r := rand.New(rand.NewPCG(200, 9))
	s := &story{t: t, r: r, gate: gate, muster: filepath.Join(dir, "muster"), server: server, root: t.TempDir(), home: t.TempDir()}
	// However few kills are enough, an upload in parts has to go on once.
	for n := 0; gate.killed < kills || gate.resumed == 0 && gate.killed < 200; n++ {
		if s.prefix = fmt.Sprintf("set-%d", n/3); n%3 == 0 {
			s.former = nil
		}
		big := n%bigEvery == 0
		s.change(big)
		if n%bigEvery == 3 {
			s.remove("big")
		}
		for range r.IntN(14) {
			d := death{at: 1 + r.IntN(s.calls()), moment: r.IntN(3)}
			if d.ofParts = big && r.IntN(2) == 0; d.ofParts {
				d.at = 1 + r.IntN(5)
			}
			if s.push(d) {
				break
			}
			s.reads()
		}
		if !s.push(death{}) {
			t.Fatal("a push that nobody kills does not end well")
		}
		s.check()
	}
	t.Logf("%d kills, %d requests, %d uploads in parts went on", gate.killed, gate.all, gate.resumed)
	if gate.resumed == 0 {
		t.Error("no upload in parts went on")
	}
}

// story is a directory that changes and is pushed.
type story struct {
	t            *testing.T
	r            *rand.Rand
	gate         *gate
	muster       string
	server       store.Config
	root, home   string
	prefix       string
	former       map[string]string // by the prefix at hand and the path: the SHA-256 of what was there before
	versions     int
	lastRequests int
}

// calls is about how many requests a push makes.
func (s *story) calls() int { return max(12, s.lastRequests) }

// change writes some files, all of whose bytes are new, and removes others. A big one goes in parts.
func (s *story) change(big bool) {
	for range 3 + s.r.IntN(12) {
		p := filepath.Join(s.root, fmt.Sprint(s.r.IntN(3)), fmt.Sprintf("f%d", s.r.IntN(12)))
		if s.r.IntN(4) == 0 {
			_ = os.Remove(p)
			continue
		}
		s.write(p, 1+s.r.IntN(5000))
	}
	s.write(filepath.Join(s.root, "always"), 100)
	if big {
		s.write(filepath.Join(s.root, "big"), 65<<20)
	}
}

func (s *story) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.root, name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) write(path string, size int) {
	s.t.Helper()
	s.versions++
	text := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(s.versions), byte(s.versions >> 8), 7}).Read(text)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

// push pushes, and is killed as d says. It tells whether the push came to its end.
func (s *story) push(d death) bool {
	s.t.Helper()
	cmd := exec.Command(s.muster, "data", "push", s.root, "s3://bucket/"+s.prefix, "--make-bucket", "--delete", "--yes", "--endpoint-url", s.gate.URL, "--region", "us-east-1", "-q")
	cmd.Env = append(os.Environ(), "MUSTER_HOME="+s.home, "AWS_SHARED_CREDENTIALS_FILE="+s.server.CredentialsFile, "MUSTER_CLUSTER=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	s.gate.mu.Lock() // no request passes before it is known who makes it
	err := cmd.Start()
	if err == nil {
		s.gate.begin(cmd.Process, d)
	}
	s.gate.mu.Unlock()
	if err != nil {
		s.t.Fatal(err)
	}
	err = cmd.Wait()
	n, endErr := s.gate.end()
	if endErr != nil {
		s.t.Fatal(endErr)
	}
	if err == nil {
		s.lastRequests = n
		return true
	}
	if cmd.ProcessState.ExitCode() >= 0 {
		s.t.Fatalf("push: %v: %s", err, &stderr)
	}
	return false
}

// check compares the dataset with the directory.
func (s *story) check() {
	s.t.Helper()
	c := s.server
	c.Bucket = "bucket"
	bucket, err := store.Open(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	head, err := manifest.ParseHead([]byte(s.object(bucket, manifest.HeadKey(s.prefix))))
	if err != nil || head.State != manifest.Whole {
		s.t.Fatalf("the head: %+v, %v", head, err)
	}
	s.former = s.sums()
	got := map[string]string{}
	for rec, err := range manifest.NewReader(strings.NewReader(s.object(bucket, manifest.ManifestKey(s.prefix, head.Manifest)))).All() {
		if err != nil {
			s.t.Fatal(err)
		}
		got[rec.Path] = rec.SHA256
		if sums, err := store.Sum(strings.NewReader(s.object(bucket, manifest.Key(s.prefix, rec.Path))), rec.SizeBytes); err != nil || sums.SHA256 != rec.SHA256 {
			s.t.Errorf("the object of %s has %s, %v, and its record %s", rec.Path, sums.SHA256, err, rec.SHA256)
		}
	}
	if diff := cmp.Diff(s.sums(), got); diff != "" {
		s.t.Fatalf("the dataset (-want +got):\n%s", diff)
	}
	objects := 0
	for _, err := range bucket.List(s.t.Context(), s.prefix+"/") {
		if err != nil {
			s.t.Fatal(err)
		}
		objects++
	}
	if objects != len(got)+2 {
		s.t.Errorf("there are %d objects for %d files", objects, len(got))
	}
	if len(s.gate.twice) > 0 {
		s.t.Fatalf("sent twice: %q", s.gate.twice)
	}
	err = filepath.WalkDir(s.home, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			s.t.Errorf("%s is left on this machine", p)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// reads reads the dataset as others do while no push is under way that will go on.
func (s *story) reads() {
	s.t.Helper()
	c := s.server
	c.Bucket = "bucket"
	bucket, err := store.Open(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := data.Open(s.t.Context(), bucket, s.prefix, s.prefix)
	if errors.Is(err, data.ErrNone) || errors.Is(err, data.ErrChanging) || errors.Is(err, store.ErrNotFound) {
		if s.former != nil && !errors.Is(err, data.ErrChanging) {
			s.t.Errorf("the dataset from before is gone: %v", err)
		}
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer d.Close()
	got := map[string]string{}
	for rec, err := range d.Records(s.t.Context()) {
		if err != nil {
			s.t.Fatal(err)
		}
		got[rec.Path] = rec.SHA256
		if sums, err := store.Sum(strings.NewReader(s.object(bucket, manifest.Key(s.prefix, rec.Path))), rec.SizeBytes); err != nil || sums.SHA256 != rec.SHA256 {
			s.t.Errorf("after a kill the object of %s has %s, %v, and its record %s", rec.Path, sums.SHA256, err, rec.SHA256)
		}
	}
	if !maps.Equal(got, s.former) && !maps.Equal(got, s.sums()) {
		s.t.Errorf("after a kill a reader gets what never was pushed: %v", got)
	}
}

func (s *story) object(bucket store.Store, key string) string {
	s.t.Helper()
	body, _, err := bucket.Get(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// sums are the SHA-256 of the directory's files.
func (s *story) sums() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		sums, err := store.Sum(bytes.NewReader(text), int64(len(text)))
		rel, _ := filepath.Rel(s.root, p)
		all[rel] = sums.SHA256
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}
