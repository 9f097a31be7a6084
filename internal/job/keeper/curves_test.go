package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/tensorboard"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// TestMain is the process that looks at files, too.
func TestMain(m *testing.M) {
	if os.Getenv("MUSTER_TEST_ERRANDS") == "" {
		os.Exit(m.Run())
	}
	if errand.Serve(os.Stdin, os.Stdout) != nil {
		os.Exit(1)
	}
}

// The files of a job are read and written by a process of its own.
func TestCurvesByErrand(t *testing.T) {
	dir := t.TempDir()
	crew := Crew(func(errand.User) []string { return []string{"env", "MUSTER_TEST_ERRANDS=1"} }, os.Args[0])
	t.Cleanup(crew.Close)
	w := newWorld(t)
	w.job.StdOut, w.job.StdErr = filepath.Join(dir, "7.out"), filepath.Join(dir, "7.out")
	w.hands = crew
	k := w.keeper()
	for i := range 3 {
		w.prints(2*i+1, 2*i+2)
		if err := os.WriteFile(w.job.StdOut, []byte(w.logs["/fsx/7.out"]), 0o600); err != nil {
			t.Fatal(err)
		}
		w.round(k)
	}
	files, _ := filepath.Glob(filepath.Join(k.Report(7).Curves, "*"))
	if len(files) != 1 || filepath.Dir(files[0]) != filepath.Join(dir, "tensorboard", "llama-7") {
		t.Fatalf("got %v", files)
	}
	text, err := os.ReadFile(files[0])
	if got := undated(t, string(text)); err != nil || !strings.Contains(got, " 6 events, the last of step 6") {
		t.Errorf("%s, %v", got, err)
	}
}

const curvesDir = "/fsx/tensorboard/llama-7"

// drawn are the files of the job's curves, the first one first.
func (w *world) drawn() (names []string) {
	w.t.Helper()
	for _, path := range slices.Sorted(maps.Keys(w.written)) {
		if filepath.Dir(path) != curvesDir {
			w.t.Errorf("%s is written", path)
		}
		names = append(names, path)
	}
	return names
}

// point is a value of a curve.
type point struct {
	Step  int64
	Value string
}

// shown is what TensorBoard shows of the curves.
func (w *world) shown() (curves map[string][]point) {
	w.t.Helper()
	dir := w.t.TempDir()
	for path, text := range w.written {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	program := os.Getenv("MUSTER_PYTHON")
	if program == "" {
		program = filepath.Join("..", "..", "..", "bin", "py")
	}
	program = filepath.Join(program, "bin", "python")
	if out, err := exec.CommandContext(w.t.Context(), program, "-c", "import tensorboard").CombinedOutput(); err != nil {
		if os.Getenv("MUSTER_CI") == "" {
			w.t.Skipf("needs TensorBoard, which `make python` installs: %v: %s", err, out)
		}
		w.t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(w.t.Context(), program, filepath.Join("..", "tensorboard", "read.py"), dir).Output()
	if err != nil {
		w.t.Fatalf("TensorBoard reads the curves: %v", err)
	}
	found := map[string]map[string][][3]any{}
	if err := json.Unmarshal(out, &found); err != nil {
		w.t.Fatal(err)
	}
	curves = map[string][]point{}
	for tag, points := range found["plugin"] {
		for _, p := range points {
			curves[tag] = append(curves[tag], point{int64(p[1].(float64)), p[2].(string)})
		}
	}
	return curves
}

// TensorBoard's own reader shows each run's steps up to where the next one went on.
func TestCurvesOnTensorBoard(t *testing.T) {
	w := newWorld(t)
	w.prints(1, 10)
	w.logs["/fsx/7.out"] += "Batch 10 Validation loss: 6.5\n"
	w.prints(11, 20)
	w.rounds(2)
	w.fails("FAILED", 1)
	w.comesBack(func() { w.rounds(1) })
	w.prints(11, 14)
	k := w.rounds(2)
	if r := k.Report(7); r.Curves != curvesDir || len(w.drawn()) != 1 {
		t.Fatalf("they are in %q: %v", r.Curves, w.drawn())
	}
	want := map[string][]point{"eval/loss": {{10, "6.5"}}}
	for i := int64(1); i <= 14; i++ {
		want["train/loss"] = append(want["train/loss"], point{i, fmt.Sprintf("%d.5", 9-i%8)})
		want["train/learning_rate"] = append(want["train/learning_rate"], point{i, "0.0010000000474974513"})
		want["speed/samples_per_second"] = append(want["speed/samples_per_second"], point{i, "2.0"})
	}
	if diff := cmp.Diff(want, w.shown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// comesBack has rounds go by until the job runs again. What it has written has not changed then.
func (w *world) comesBack(round func()) {
	for i := 0; w.job.State != "RUNNING"; i++ {
		if round(); i > 10 {
			w.t.Fatalf("it is %s", w.job.State)
		}
	}
}

// undated is a file's curves without the times of its events, which are those when their lines were seen.
func undated(t *testing.T, text string) string {
	t.Helper()
	f, err := tensorboard.Read(strings.NewReader(text))
	if err != nil || f.Size != int64(len(text)) {
		t.Errorf("%d bytes of %d can be read: %v", f.Size, len(text), err)
	}
	return fmt.Sprintf("%d bytes, %d events, the last of step %d", f.Size, f.Events, f.Step)
}

// drawsTwoRuns is a job that loses a node between its lines, and comes back. Its keeper may die at a call.
func drawsTwoRuns(t *testing.T, save time.Duration, deadly int) (w *world, over bool) {
	w = newWorld(t)
	w.save = save
	k := w.keeper()
	round := func() {
		if !w.round(k) {
			k = w.keeper()
			w.round(k)
		}
	}
	round()
	k.records[7].Since = start // not in the second in which the test runs
	if err := k.save(k.records[7]); err != nil {
		t.Fatal(err)
	}
	w.deadly, w.calls = deadly, 0
	for i := range 4 {
		w.prints(5*i+1, 5*i+5)
		round()
	}
	w.fails("FAILED", 1)
	w.comesBack(func() { round(); w.schedule() })
	for i := range 2 {
		w.prints(5*i+11, 5*i+15)
		round()
	}
	round()
	return w, w.calls < deadly
}

// Whatever a keeper was killed at, and however long ago it wrote anything down, the file is as if it had not been.
func TestCurvesKilledAtEachStep(t *testing.T) {
	for name, save := range map[string]time.Duration{"saves_always": time.Nanosecond, "saves_when_it_must": time.Hour} {
		t.Run(name, func(t *testing.T) {
			undisturbed, _ := drawsTwoRuns(t, save, 0)
			path := curvesDir + "/" + tensorboard.Name(start, "job-7")
			want := undated(t, undisturbed.written[path])
			if !strings.Contains(want, " 30 events, the last of step 20") {
				t.Fatal(want)
			}
			for deadly := 1; ; deadly++ {
				w, over := drawsTwoRuns(t, save, deadly)
				if names := w.drawn(); !slices.Equal(names, []string{path}) {
					t.Fatalf("killed at call %d: %v", deadly, names)
				}
				if got := undated(t, w.written[path]); got != want {
					t.Fatalf("killed at call %d: %s, want %s", deadly, got, want)
				}
				if over {
					return
				}
			}
		})
	}
}

// A place that cannot be written is said once, stops nothing else, and has all when it can be written again.
func TestCurvesThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.full = errors.New("write x: no space left on device")
	for i := range 5 {
		w.prints(3*i+1, 3*i+3)
		w.rounds(2)
	}
	k := w.rounds(1)
	told := slices.DeleteFunc(slices.Clone(w.events), func(e Event) bool { return e.Kind != "job curves" })
	if len(told) != 1 || told[0].Reason != "job 7: its curves for TensorBoard are not written: write x: no space left on device" {
		t.Errorf("told %+v", told)
	}
	r := k.Report(7)
	if len(r.Samples) != 15 || !slices.Equal(r.Blind, []string{"its curves are not written: write x: no space left on device"}) {
		t.Errorf("%d samples, %q", len(r.Samples), r.Blind)
	}
	if len(k.records[7].deaf) > 0 {
		t.Error("the job's silence would not count any more")
	}
	w.full = nil
	k = w.rounds(1)
	if got := undated(t, w.written[w.drawn()[0]]); !strings.Contains(got, " 15 events, the last of step 15") || len(k.Report(7).Blind) > 0 {
		t.Errorf("%s; %v", got, k.Report(7).Blind)
	}
}

// What waits for a full disk does not grow without end.
func TestCurvesWaitForAWhile(t *testing.T) {
	w := newWorld(t)
	w.full = errors.New("full")
	k := w.rounds(1)
	for i := range 4 {
		w.prints(2000*i+1, 2000*i+2000)
		w.round(k)
	}
	if n := len(k.records[7].Curves.Unwritten); n < unwrittenMost || n > 2*unwrittenMost {
		t.Errorf("%d bytes wait", n)
	}
}

// Who removes the file or cuts it gets another, which has what comes from then on.
func TestCurvesRemoved(t *testing.T) {
	for name, spoil := range map[string]func(w *world, path string){
		"removed": func(w *world, path string) { delete(w.written, path) },
		"cut":     func(w *world, path string) { w.written[path] = w.written[path][:40] },
	} {
		t.Run(name, func(t *testing.T) {
			for deadly := range 20 {
				w := newWorld(t)
				w.prints(1, 5)
				w.rounds(2)
				first := w.drawn()[0]
				spoil(w, first)
				w.prints(6, 8)
				w.calls, w.deadly = 0, deadly
				w.rounds(3)
				names := slices.DeleteFunc(w.drawn(), func(name string) bool { return name == first })
				if len(names) != 1 || names[0] < first {
					t.Fatalf("killed at call %d: %v", deadly, names)
				}
				if got := undated(t, w.written[names[0]]); !strings.Contains(got, " 3 events, the last of step 8") {
					t.Errorf("killed at call %d: %s", deadly, got)
				}
			}
		})
	}
}

func TestCurvesAreThinned(t *testing.T) {
	var c curves
	taken := 0
	for step := range int64(31 * curvesWhole) {
		for _, s := range []trainlog.Sample{{Step: step, LearningRate: trainlog.Some(1)}, {Step: step, Loss: trainlog.Some(1)}} {
			if _, ok := c.event(s, start, start); ok {
				taken++
			}
		}
		if step == curvesWhole-1 && taken != 2*curvesWhole {
			t.Errorf("of the first %d steps %d lines are taken", curvesWhole, taken)
		}
	}
	if taken != 2*5*curvesWhole {
		t.Errorf("%d lines are taken", taken)
	}
}

func TestCurvesName(t *testing.T) {
	for name, want := range map[string]string{"llama": "llama-7_3", "a/../b\n": "a-..-b--7_3", "..": "..-7_3", "\xff\xfe": "--7_3", strings.Repeat("é", 150): strings.Repeat("é", 100) + "-7_3"} {
		if got := curvesName(name, "7_3"); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// A line's own time counts if it can be right.
func TestCurvesTime(t *testing.T) {
	at := start.Add(time.Hour)
	says := func(d time.Duration) time.Time {
		own := start.Add(d).In(time.Local)
		return time.Date(own.Year(), own.Month(), own.Day(), own.Hour(), own.Minute(), own.Second(), 0, time.UTC)
	}
	for name, row := range map[string]struct{ says, want time.Time }{
		"none":          {time.Time{}, at},
		"its_own":       {says(10 * time.Minute), start.Add(10 * time.Minute)},
		"of_tomorrow":   {says(5 * time.Hour), at},
		"of_before_all": {says(-5 * time.Hour), at},
	} {
		if got := timeOf(trainlog.Sample{Time: row.says}, start, at); !got.Equal(row.want) {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
}

// Lines that do not say their step are counted, and evaluations stand at the training's step.
func TestCurvesWithoutSteps(t *testing.T) {
	var c curves
	var steps []int64
	for _, s := range []trainlog.Sample{
		{Step: trainlog.NoStep, Loss: trainlog.Some(1)}, {Step: trainlog.NoStep, Loss: trainlog.Some(1)},
		{Step: trainlog.NoStep, Loss: trainlog.Some(1), Eval: true}, {Step: 7}, {Step: 9, Loss: trainlog.Some(1)},
	} {
		if e, ok := c.event(s, start, start); ok {
			steps = append(steps, e.Step)
		}
	}
	if !slices.Equal(steps, []int64{1, 2, 2, 9}) {
		t.Errorf("got %v", steps)
	}
}
