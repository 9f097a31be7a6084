package tensorboard_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/tensorboard"
)

//go:embed read.py
var reader string

// point is a value of a curve as TensorBoard's readers tell it.
type point struct {
	Wall  float64
	Step  int64
	Value float32
}

func (p *point) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &[]any{&p.Wall, &p.Step, &value}); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(value, 64)
	p.Value = float32(f)
	return err
}

// python is that of $MUSTER_PYTHON or of bin/py, where `make python` puts it, with TensorBoard.
func python(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MUSTER_PYTHON")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "bin", "py")
	}
	program := filepath.Join(dir, "bin", "python")
	out, err := exec.CommandContext(t.Context(), program, "-c", "import tensorboard").CombinedOutput()
	if err != nil && os.Getenv("MUSTER_CI") == "" {
		t.Skipf("needs TensorBoard, which `make python` installs: %v: %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// curves are what TensorBoard's two readers find in a directory: the one that other programs use, and its web pages'.
func curves(t *testing.T, dir string) map[string]map[string][]point {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), "-c", reader, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("TensorBoard reads %s: %v", dir, err)
	}
	var found map[string]map[string][]point
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return found
}

func TestTensorBoardReadsIt(t *testing.T) {
	event := func(step int64, loss float64) tensorboard.Event {
		return tensorboard.Event{Time: begin.Add(time.Duration(min(step, 99)) * 1234567 * time.Microsecond), Step: step, Scalars: []tensorboard.Scalar{
			{Tag: "train/loss", Value: loss}, {Tag: "train/learning_rate", Value: 3e-5 / float64(step+1)},
		}}
	}
	var before, after []tensorboard.Event
	for step := range int64(10) {
		before = append(before, event(step, 11-float64(step)/7))
	}
	before = append(before, event(10, math.NaN()), event(11, math.Inf(1)), event(1<<40, 1e-30))
	for step := int64(6); step < 9; step++ { // the run after it goes on from a checkpoint of step 5
		after = append(after, event(step, 5))
	}
	kept := append(append([]tensorboard.Event{}, before[:6]...), after...)

	for name, c := range map[string]struct {
		write func(t *testing.T, dir string)
		want  []tensorboard.Event
	}{
		"one_run":           {func(t *testing.T, dir string) { write(t, dir, 0, before, nil) }, before},
		"restart":           {func(t *testing.T, dir string) { write(t, dir, 0, before, after) }, kept},
		"restart_in_a_file": {func(t *testing.T, dir string) { write(t, dir, 0, before, nil); write(t, dir, 60, after, nil) }, kept},
		"torn": {func(t *testing.T, dir string) {
			path := write(t, dir, 0, before, nil)
			tear(t, path, 5)
			goOn(t, path, before[len(before)-1:])
		}, before},
		"torn_and_left": {func(t *testing.T, dir string) { tear(t, write(t, dir, 0, before, nil), 5) }, before[:len(before)-1]},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.write(t, dir)
			want := map[string][]point{}
			for _, e := range c.want {
				for _, s := range e.Scalars {
					want[s.Tag] = append(want[s.Tag], point{float64(e.Time.UnixMicro()) / 1e6, e.Step, float32(s.Value)})
				}
			}
			for by, got := range curves(t, dir) {
				same := cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })
				if diff := cmp.Diff(want, got, same); diff != "" {
					t.Errorf("%s (-want +got):\n%s", by, diff)
				}
			}
		})
	}
}

// write makes an event file of one run, or of two.
func write(t *testing.T, dir string, later int, first, second []tensorboard.Event) string {
	t.Helper()
	var f tensorboard.File
	var data []byte
	for _, e := range first {
		data = f.Append(data, e)
	}
	if second != nil {
		f.Restart()
	}
	for _, e := range second {
		data = f.Append(data, e)
	}
	path := filepath.Join(dir, tensorboard.Name(begin.Add(time.Duration(later)*time.Second), "head/node"))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != f.Size {
		t.Errorf("%d bytes, the file says %d", len(data), f.Size)
	}
	return path
}

// tear takes the last bytes of a file.
func tear(t *testing.T, path string, bytes int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goOn is what a writer does that was killed: it reads the file, cuts it and adds to it.
func goOn(t *testing.T, path string, events []tensorboard.Event) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f, err := tensorboard.Read(file)
	if err == nil {
		err = file.Truncate(f.Size)
	}
	for _, e := range events {
		if err == nil {
			at := f.Size
			_, err = file.WriteAt(f.Append(nil, e), at)
		}
	}
	if err != nil {
		t.Fatal(fmt.Errorf("go on with %s: %w", path, err))
	}
}
