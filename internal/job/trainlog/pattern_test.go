package trainlog_test

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

func compiled(t testing.TB, pattern string) *trainlog.Pattern {
	t.Helper()
	p, err := trainlog.Compile(pattern)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return p
}

func TestPattern(t *testing.T) {
	for _, row := range []struct {
		name, pattern, text string
		want                []trainlog.Sample
	}{
		{"step_and_loss", `iter (?P<step>\d+).*loss=(?P<loss>\S+)`, "iter 7 of 9: loss=1.5\n", []trainlog.Sample{{Step: 7, Loss: some(1.5)}}},
		{"all", `s=(?P<step>\S+)/(?P<steps>\S+) e=(?P<epoch>\S+) l=(?P<loss>\S+) lr=(?P<lr>\S+) g=(?P<grad_norm>\S+) a=(?P<samples_per_second>\S+) t=(?P<tokens_per_second>\S+) u=(?P<tokens_per_second_per_gpu>\S+) f=(?P<tflops_per_gpu>\S+) d=(?P<step_seconds>\S+)`,
			"s=1e3/2,000 e=0.5 l=nan lr=1e-4 g='2' a=3, t=12,345.5 u=5 f=6% d=0.7\n", []trainlog.Sample{{
				Step: 1000, Steps: 2000, Epoch: some(0.5), Loss: some(math.NaN()), LearningRate: some(1e-4), GradNorm: some(2), SamplesPerSecond: some(3),
				TokensPerSecond: some(12345.5), TokensPerSecondPerGPU: some(5), TFLOPsPerGPU: some(6), StepSeconds: some(0.7)}}},
		{"evaluation", `valid (?P<step>\d+): (?P<eval_loss>\S+)`, "valid 3: 0.5\n", []trainlog.Sample{{Step: 3, Eval: true, Loss: some(0.5)}}},
		{"both", `step (?P<step>\d+)(?: train (?P<loss>\S+))?(?: valid (?P<eval_loss>\S+))?`, "step 3 train 0.5\nstep 3 valid 0.7\nstep 4 train 0.4 valid 0.6\n", []trainlog.Sample{
			{Step: 3, Loss: some(0.5)}, {Step: 3, Eval: true, Loss: some(0.7)}, {Step: 4, Loss: some(0.4)}, {Step: 4, Eval: true, Loss: some(0.6)}}},
		{"without_step", `loss (?P<loss>\S+)`, "loss 0.5", []trainlog.Sample{{Step: trainlog.NoStep, Loss: some(0.5)}}},
		{"behind_prefixes", `^step (?P<step>\d+)$`, "3: [rank3]: step 7\r\n", []trainlog.Sample{{Step: 7}}},
		{"what_looks_like_a_prefix", `^(?P<step>\d+): (?P<loss>\S+)$`, "12: 0.5\n", []trainlog.Sample{{Step: 12, Loss: some(0.5)}}},
		{"colours", `step (?P<step>\d+)`, "\x1b[1mstep \x1b[32m7\x1b[0m\n", []trainlog.Sample{{Step: 7}}},
		{"a_group_that_is_not_there", `step (?P<step>\d+)(?: loss (?P<loss>\S+))?`, "step 7\n", []trainlog.Sample{{Step: 7}}},
		{"no_number", `loss (?P<loss>\S+)`, "loss is 0.5\nloss --\n", nil},
		{"negative_step", `step (?P<step>\S+)`, "step -3\n", nil},
		{"instead_of_known_formats", `step (?P<step>\d+)`, "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := trainlog.Reader{Pattern: compiled(t, row.pattern)}
			got := append(r.Feed([]byte(row.text)).Samples, r.End().Samples...)
			for i := range got {
				got[i].Place = trainlog.Place{}
			}
			for i := range row.want {
				row.want[i].Format = trainlog.User
			}
			if diff := cmp.Diff(row.want, got, sameValue); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	names := strings.Join(trainlog.GroupNames(), ", ")
	for pattern, want := range map[string]string{
		`(?P<loss>`:             "error parsing regexp: missing closing ): `(?P<loss>`",
		`loss=(\S+)`:            `no group has a name, such as (?P<loss>\S+); names are ` + names,
		`x`:                     `no group has a name, such as (?P<loss>\S+); names are ` + names,
		`loss=(?P<losses>\S+)`:  `no group is named "losses"; names are ` + names,
		`(?P<step>1)(?P<Lr>\S)`: `no group is named "Lr"; names are ` + names,
	} {
		if _, err := trainlog.Compile(pattern); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", pattern, err, want)
		}
	}
}

// What is looked for before the expression is tried leaves out nothing that it matches.
func TestPatternsMissNothing(t *testing.T) {
	lines := strings.SplitAfter(string(recorded(t)), "\n")
	for _, pattern := range []string{
		`(?i)LOSS:? *(?P<loss>[-+.\deE]+)`, `(?:loss|Loss): +(?P<loss>[\d.]+)`, `(step)+: *(?P<step>\d+)`, `(?P<step>\d+)`, `\|.*iteration +(?P<step>\d+)|step: +(?P<step>\d+)`,
		`[Bb]atch (?P<step>\d+)`, `(?P<loss>\d\.\d+)$`, `tps: +(?P<tokens_per_second>[\d,]+)`, `.*\[(?P<step>\d\d)`, `(?:xyz)?lr: (?P<lr>\S+)`, `(?:lr: ){1}(?P<lr>\d\S+)`, `é?r: (?P<lr>\d[.\d]*)`,
	} {
		p, exp := compiled(t, pattern), regexp.MustCompile(pattern)
		matched := 0
		for _, line := range lines {
			if strings.ContainsAny(line, "\r\x1b") || strings.Contains(line, ": [") || strings.HasPrefix(line, "[") || strings.HasPrefix(line, " ") {
				continue // its parts and prefixes are none of this test
			}
			line = strings.TrimSuffix(line, "\n")
			r := trainlog.Reader{Pattern: p}
			got := len(r.Feed([]byte(line+"\n")).Samples) > 0
			if want := exp.MatchString(line); want && !got {
				t.Errorf("%s does not match %q", pattern, line)
			} else if want {
				matched++
			}
		}
		if matched == 0 {
			t.Errorf("%s was not tried", pattern)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add(`loss=(?P<loss>\S+)`, "loss=1")
	f.Add(`(?P<loss>[\d.]+)|x`, "x 1")
	f.Fuzz(func(t *testing.T, pattern, line string) {
		p, err := trainlog.Compile(pattern)
		if err != nil || len(line) > 1000 {
			return
		}
		r := trainlog.Reader{Pattern: p}
		r.Feed([]byte(line + "\n"))
	})
}
