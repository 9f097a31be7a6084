package trainlog_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// programs are the logs of testdata/programs, by name.
func programs(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/programs/*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs of programs: %v", err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".log")] = string(text)
	}
	return all
}

// TestPrograms compares what lines of programs say with what they were found to say. testdata/programs/SOURCE.md says where they are from.
func TestPrograms(t *testing.T) {
	source, err := os.ReadFile("testdata/programs/SOURCE.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range programs(t) {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(string(source), "| "+name+" |") {
				t.Error("SOURCE.md does not say where the lines are from")
			}
			var out strings.Builder
			for _, s := range read(text).Samples {
				out.WriteString(told(s) + "\n")
			}
			golden.Check(t, filepath.Join("programs", name+".found"), out.String())
		})
	}
}

// Forty steps of each of thirteen programs: the loss is 1 + 10/(n+1).
func TestFortySteps(t *testing.T) {
	type want struct {
		step, steps, epochSteps int64 // of the last
		says                    []string
	}
	for name, w := range map[string]want{
		"composer": {40, 4800, 0, []string{"tokens/s"}},
		"fairseq":  {40, 0, 1000, []string{"tokens/s", "lr", "norm", "step time", "time"}},
		"generic":  {40, 1000, 0, []string{"tokens/s", "lr"}},
		"imagenet": {40, 0, 5005, []string{"step time"}},
		"json":     {40, 0, 0, []string{"lr"}},
		"keras":    {40, 400, 0, []string{"step time"}},
		"litgpt":   {20, 0, 0, []string{"step time"}},
		"maxtext":  {40, 0, 0, []string{"tokens/s/GPU", "TFLOP/s", "step time"}},
		"mm":       {40, 0, 7330, []string{"lr", "step time", "time"}},
		"nanogpt":  {40, 0, 0, []string{"MFU", "step time"}},
		"nanotron": {40, 15000, 0, []string{"tokens/s", "tokens/s/GPU", "TFLOP/s", "lr", "norm", "step time", "time"}},
		"neox":     {40, 320000, 0, []string{"samples/s", "TFLOP/s", "lr", "step time", "time"}},
		"tune":     {40, 1000, 0, []string{"step time"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/progress/" + name + ".log")
			if err != nil {
				t.Fatal(err)
			}
			var losses []float64
			var last trainlog.Sample
			said := map[string]bool{}
			for _, s := range read(string(text)).Samples {
				if s.Eval || s.Step < last.Step {
					t.Errorf("%s: an evaluation, or a step that falls", told(s))
				}
				if s.Loss.Known {
					losses = append(losses, s.Loss.Float)
					last = s
				}
				for what, is := range map[string]bool{
					"tokens/s": s.TokensPerSecond == some(12345.6) || s.TokensPerSecond == some(12345) || s.TokensPerSecond == some(259e3),
					"lr":       s.LearningRate.Known, "norm": s.GradNorm.Known, "samples/s": s.SamplesPerSecond == some(12.3), "MFU": s.MFU == some(0.4121),
					"step time":    s.StepSeconds.Float > 0.03 && s.StepSeconds.Float < 1.3,
					"tokens/s/GPU": s.TokensPerSecondPerGPU == some(3210.1) || s.TokensPerSecondPerGPU == some(32400), "TFLOP/s": s.TFLOPsPerGPU.Known, "time": !s.Time.IsZero(),
				} {
					said[what] = said[what] || is
				}
			}
			if len(losses) != 40 || last.Step != w.step || last.Steps != w.steps || last.EpochSteps != w.epochSteps {
				t.Fatalf("%d losses, the last is %s", len(losses), told(last))
			}
			for i, loss := range losses {
				if want := 1 + 10/float64(i+2); math.Abs(loss-want) > 0.001 {
					t.Errorf("loss %d is %v, want %v", i+1, loss, want)
				}
			}
			var says []string
			for what, is := range said {
				if is {
					says = append(says, what)
				}
			}
			slices.Sort(says)
			slices.Sort(w.says)
			if diff := cmp.Diff(w.says, says); diff != "" {
				t.Errorf("what else the lines say (-want +got):\n%s", diff)
			}
		})
	}
}

// However a log comes, and however often another reader goes on, it says the same.
func TestProgramsInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4))
	for name, text := range programs(t) {
		want := read(text)
		for range 5 {
			got := inPieces(&trainlog.Reader{}, []byte(text), random, 1+random.IntN(100))
			if diff := cmp.Diff(want, got, sameValue); diff != "" {
				t.Fatalf("%s: pieces make a difference (-want +got):\n%s", name, diff)
			}
			got = trainlog.Found{}
			r := &trainlog.Reader{}
			for rest := []byte(text); len(rest) > 0; r = next(t, r) {
				n := min(len(rest), 1+random.IntN(200))
				got.Samples = append(got.Samples, r.Feed(rest[:n]).Samples...)
				rest = rest[n:]
			}
			got.Samples = append(got.Samples, r.End().Samples...)
			if diff := cmp.Diff(want.Samples, got.Samples, sameValue); diff != "" {
				t.Fatalf("%s: readers that follow each other differ (-want +got):\n%s", name, diff)
			}
		}
	}
}

// What is known of lines of many kinds is bounded.
func TestGeneralMemoryIsSmall(t *testing.T) {
	var r trainlog.Reader
	for i := range 5000 {
		r.Feed([]byte(strings.Repeat("x", i%90) + strings.Repeat(" y", i%7) + " step 3 " + strings.Repeat("z", i%50) + "_loss 1.5\nEpoch 3/4\n"))
	}
	text, err := json.Marshal(r.Memory())
	if err != nil || len(text) > 1<<18 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
