package examples_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/freeport"
)

// bytelm is the compiled program and the text that it learns.
type bytelm struct{ program, text string }

// compileBytelm skips the test where there is no C compiler; in CI that fails.
func compileBytelm(t *testing.T) bytelm {
	t.Helper()
	dir := t.TempDir()
	b := bytelm{filepath.Join(dir, "bytelm"), filepath.Join(dir, "text")}
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs a C compiler:", err)
	}
	if out, err := exec.CommandContext(t.Context(), "cc", "-O3", "-Wall", "-Wextra", "-Werror", "-o", b.program, "bytelm/bytelm.c", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(b.text, []byte(strings.Repeat("the quick brown fox jumps over the lazy dog. ", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// rank is one process of a run, with its checkpoints and weights in dir.
func (b bytelm) rank(t *testing.T, dir string, rank, ranks int, port string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), b.program, b.text, dir, dir)
	cmd.Env = append([]string{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, "STEPS=40", "CHECKPOINT_FREQ=5", "BATCH_SIZE=8",
		fmt.Sprintf("SLURM_PROCID=%d", rank), fmt.Sprintf("SLURM_NTASKS=%d", ranks)}, env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

// run trains to the end on three ranks and returns what rank 0 wrote and whether it succeeded.
func (b bytelm) run(t *testing.T, dir string, env ...string) (said string, ok bool) {
	t.Helper()
	port, ranks := strconv.Itoa(freeport.OnLoopback(t)), 3
	first, out := b.rank(t, dir, 0, ranks, port, env...)
	var others []*exec.Cmd
	for i := 1; i < ranks; i++ {
		cmd, _ := b.rank(t, dir, i, ranks, port, env...)
		others = append(others, cmd)
	}
	err := first.Wait()
	for _, cmd := range others {
		if other := cmd.Wait(); err == nil && other != nil {
			t.Errorf("rank 0 succeeded, another one did not: %v", other)
		}
	}
	return out.String(), err == nil
}

func weights(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "weights.bin"))
	if err != nil || len(data) == 0 {
		t.Fatalf("%d bytes of weights: %v", len(data), err)
	}
	return data
}

var losses = regexp.MustCompile(`(?m)^Batch (\d+) Loss: ([\d.]+), Speed: [\d.]+ samples/sec, lr: [\d.]+$`)

// TestBytelm_goes_on_from_checkpoints ends a run after a checkpoint, in each state that a
// death may leave, and wants the weights of a run that nothing happened to.
func TestBytelm_goes_on_from_checkpoints(t *testing.T) {
	b := compileBytelm(t)
	undisturbed := t.TempDir()
	said, ok := b.run(t, undisturbed)
	if !ok {
		t.Fatal(said)
	}
	all := losses.FindAllStringSubmatch(said, -1)
	if len(all) != 40 || all[0][2] <= all[39][2] {
		t.Errorf("the loss does not fall over 40 batches:\n%s", said)
	}
	const newest = "checkpoint-00000040.bin"
	cases := map[string]struct {
		change func(data []byte) []byte // nil: the newest checkpoint is lost
		want   []string
	}{
		"before_the_newest": {nil, []string{"Resumed from DIR/checkpoint-00000035.bin at batch 35"}},
		"torn":              {func(d []byte) []byte { return d[:len(d)/2] }, []string{"Checkpoint DIR/" + newest + " is damaged", "Resumed from DIR/checkpoint-00000035.bin at batch 35"}},
		"a_bit_flipped": {func(d []byte) []byte { d[len(d)/2] ^= 1; return d },
			[]string{"Checkpoint DIR/" + newest + " is damaged", "Resumed from DIR/checkpoint-00000035.bin at batch 35"}},
		"not_ours":   {func([]byte) []byte { return []byte("text") }, []string{"Checkpoint DIR/" + newest + " is damaged"}},
		"at_its_end": {func(d []byte) []byte { return d }, []string{"Resumed from DIR/" + newest + " at batch 40"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(undisturbed)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "weights.bin")); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, newest), c.change)
			said, ok := b.run(t, dir)
			if !ok || !bytes.Equal(weights(t, dir), weights(t, undisturbed)) {
				t.Errorf("succeeded %v, with other weights than an undisturbed run:\n%s", ok, said)
			}
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "DIR", dir); !strings.Contains(said, want+"\n") {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
		})
	}
	if files, err := filepath.Glob(undisturbed + "/*"); len(files) != 4 {
		t.Errorf("three checkpoints and the weights should be left, not %v, %v", files, err)
	}
}

// damage changes a file, or removes it.
func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && change != nil {
		err = os.WriteFile(path, change(data), 0o600)
	} else if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestBytelm_refuses_other_runs holds that no checkpoint is used which would end in other bits.
func TestBytelm_refuses_other_runs(t *testing.T) {
	b := compileBytelm(t)
	dir := t.TempDir()
	if said, ok := b.run(t, dir); !ok {
		t.Fatal(said)
	}
	const other = "is of a run with another text, seed, batch size or number of steps or ranks\n"
	for env, want := range map[string]string{
		"SEED=2": other, "STEPS=41": other, "BATCH_SIZE=9": other,
		"SEED=0": "SEED must be a number above 0, and not 0\n", "STEPS=many": "STEPS must be a number above 0, and not many\n",
	} {
		if said, ok := b.run(t, dir, env); ok || !strings.Contains(said, want) {
			t.Errorf("%s: succeeded %v:\n%s", env, ok, said)
		}
	}
}

// TestBytelm_ends_with_a_rank holds that rank 0 does not wait for a rank whose connection ended.
func TestBytelm_ends_with_a_rank(t *testing.T) {
	b := compileBytelm(t)
	port := strconv.Itoa(freeport.OnLoopback(t))
	cmd, out := b.rank(t, t.TempDir(), 0, 2, port)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var peer net.Conn
	for err := error(net.ErrClosed); err != nil; { // until it listens
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		peer, err = net.Dial("tcp4", "127.0.0.1:"+port)
	}
	if err := binary.Write(peer, binary.NativeEndian, uint64(1)); err != nil {
		t.Fatal(err)
	}
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "another rank") {
		t.Errorf("%v:\n%s", err, out)
	}
}
