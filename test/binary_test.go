package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the one binary may weigh. It runs in Slurm's path and on every node. Each
// service of the AWS SDK has a table of its endpoints, which takes 90 KB; our own
// packages make what they need when they need it.
const (
	mostBytes        = 40 << 20
	mostInitBytes    = 2400 << 10
	mostOwnInitBytes = 64 << 10
)

// TestBinary_is_small_and_starts_lean holds the size of the binary and what its
// packages allocate before main begins.
func TestBinary_is_small_and_starts_lean(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "muster")
	build := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w", "-o", binary, "../cmd/muster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > mostBytes {
		t.Errorf("the binary has %d bytes, more than %d", info.Size(), mostBytes)
	}
	run := exec.Command(binary, "version")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("version: %v\n%s", err, trace)
	}
	sum, own := 0, 0
	for _, m := range regexp.MustCompile(`init (\S+) .* (\d+) bytes, \d+ allocs`).FindAllSubmatch(trace, -1) {
		n, err := strconv.Atoi(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
		if strings.Contains(string(m[1]), "muster-hpc/muster") {
			own += n
		}
	}
	if own > mostOwnInitBytes {
		t.Errorf("our packages allocate %d bytes before main, more than %d", own, mostOwnInitBytes)
	}
	if sum == 0 || sum > mostInitBytes {
		t.Errorf("packages allocate %d bytes before main, want more than 0 and at most %d", sum, mostInitBytes)
	}
	t.Logf("%d bytes, %d allocated before main, %d of them by our packages", info.Size(), sum, own)
}
