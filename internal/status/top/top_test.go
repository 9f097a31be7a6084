package top_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/status"
	"github.com/muster-hpc/muster/internal/status/top"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func float(v float64) *float64 { return &v }

// falling is a loss that falls, as a training writes it.
func falling(n int, of float64) []client.JobSample {
	var all []client.JobSample
	for i := range n {
		step := int64(i * 10)
		s := client.JobSample{Step: step, Steps: 5000, Loss: float(of / (1 + float64(i)/40)), SamplesPerSecond: float(117 + 3*math.Sin(float64(i))), TokensPerSecond: float(479232)}
		all = append(all, s)
	}
	return append(all, client.JobSample{Step: all[n-1].Step, Loss: float(99), Eval: true})
}

func running(id int, name string) top.Job {
	return top.Job{Row: job.Row{
		ID: id, Label: fmt.Sprint(id), Name: name, User: "ada", Partition: "gpu", State: "RUNNING", NumNodes: 11, NodeList: fmt.Sprintf("gpu-dy-p5e-[%d-%d]", id*11, id*11+10),
		Submit: ago(5 * time.Hour), Start: ago(4*time.Hour + 3*time.Minute), Attempts: 1,
	}, LeftSeconds: 13*86400 + 7*3600, Stdout: fmt.Sprintf("/fsx/logs/%s-%d.out", name, id)}
}

func waiting(id int, name, why string) top.Job {
	return top.Job{Row: job.Row{ID: id, Label: fmt.Sprint(id), Name: name, User: "grace", Partition: "gpu", State: "PENDING", NumNodes: 20, Submit: ago(90 * time.Minute), Why: why}}
}

// guide is a look at a cluster of 80 nodes on which seven models train, and an eighth waits.
func guide() top.Look {
	l := top.Look{At: ago(time.Second), Cluster: status.Cluster{
		Name: "guide-80", State: "up",
		Nodes:    &status.Nodes{Total: 80, States: []status.NodesState{{State: "allocated", Count: 77}, {State: "idle", Count: 2}, {State: "drained", Count: 1}}},
		Jobs:     &status.Jobs{Running: 7, Pending: 2},
		Services: []status.Service{{Name: "slurmctld", Phase: status.Ready}, {Name: "slurmdbd", Phase: "not ready"}},
		Look:     []string{"gpu-dy-p5e-80: drained: muster: Xid 79"},
	}}
	for i := range 7 {
		j := running(i+1, fmt.Sprintf("model%d-llama-70b", i+1))
		j.Kept = &client.JobReport{
			ID: j.ID, Phase: "training", Samples: falling(60*(i+1), 11), Restarts: i % 3,
			Checkpoint: &client.JobCheckpoint{Dir: fmt.Sprintf("/fsx/checkpoints/model%d/step-400", i+1), Step: 400, At: ago(12 * time.Minute)},
		}
		l.Jobs = append(l.Jobs, j)
	}
	l.Jobs[2].Kept.Phase = "silent"
	l.Jobs[2].Kept.Hang = &client.JobHang{Since: ago(14 * time.Minute), Why: "no step for 20 min, its rhythm is 8 s", Ranks: []string{"rank 3 on gpu-dy-p5e-35 stands still"}}
	l.Jobs[4].Kept.Phase, l.Jobs[4].Kept.Samples, l.Jobs[4].Kept.Checkpoint = "starting", nil, nil
	l.Jobs[5].Kept, l.Jobs[5].Samples = nil, falling(30, 8)
	l.Jobs[0].Log = strings.Split("loading\nBatch 590 Loss: 9.1, Speed: 117 samples/sec, lr: 0.000031\na\tb \x1b[2J\u202e größe 图 "+strings.Repeat("x", 200), "\n")
	l.Jobs[0].Kept.Rounds = []client.JobRound{{End: ago(3 * time.Hour), State: "NODE_FAIL", Why: "lost a node", AtFault: "gpu-dy-p5e-14", Action: "elsewhere", Because: "a new run can do without it"}}
	l.Jobs[0].Kept.ExpectedEnd = now.Add(30 * time.Hour)
	return top.Look{At: l.At, Cluster: l.Cluster, Jobs: append(l.Jobs,
		waiting(8, "urgent", "waits for nodes: 20 are needed, 2 are free"), waiting(9, "größe-模型-with-a-very-long-name-indeed", "waits for job 8"))}
}

func screen(width, height int) top.Screen {
	return top.Screen{Width: width, Height: height, Unicode: true, Now: now}
}

func press(s top.Screen, keys ...string) top.Screen {
	for _, k := range keys {
		s, _ = s.Key(k)
	}
	return s
}

func TestFrames(t *testing.T) {
	wide := func(s top.Screen) top.Screen { return s.Seen(guide()) }
	colour, ascii, old, failed := screen(80, 24), screen(80, 24), screen(80, 24), screen(60, 12)
	colour.Colour, ascii.Unicode = true, false
	old.Now = now.Add(time.Minute)
	old = wide(old)
	old.Failed = "ask Slurm for nodes and jobs: no answer within 5s"
	failed.Failed, failed.Since = "ask Slurm for nodes and jobs: scontrol show node: slurm_load_node error: Unable to contact slurm controller (connect failure)", time.Time{}
	began := screen(60, 12)
	began.Since = ago(4 * time.Second)
	paid := guide()
	paid.Cost = &top.Cost{USDPerHour: 3081.57, Source: "us-east-1", Unpriced: 2}
	leaves := running(3, "titan")
	leaves.GivesWay = "makes room for another job, and is ended at 12:01:00 at the latest"
	leaves.Samples = []client.JobSample{{Step: 10, Loss: float(5), TokensPerSecondPerGPU: float(7034), TFLOPs: float(407)}, {Step: 20, Loss: float(4), TokensPerSecondPerGPU: float(7040), TFLOPs: float(408)}}
	leaving := screen(140, 24).Seen(top.Look{At: now, Cluster: status.Cluster{Name: "demo", State: "up", Nodes: &status.Nodes{}, Jobs: &status.Jobs{Running: 1}}, Jobs: []top.Job{leaves}})
	empty := screen(80, 24).Seen(top.Look{At: now, Cluster: status.Cluster{Name: "demo", State: "up", Nodes: &status.Nodes{}, Jobs: &status.Jobs{}}})
	for name, s := range map[string]top.Screen{
		"80x24": wide(screen(80, 24)), "120x40": wide(screen(120, 40)), "40x24": wide(screen(40, 24)), "200x50": wide(screen(200, 50)), "once": wide(screen(120, 0)),
		"80x24-colour": wide(colour), "80x24-ascii": wide(ascii), "80x24-old": old, "80x24-queue": press(wide(screen(80, 24)), "G"), "80x10": press(wide(screen(80, 10)), "j", "j", "j"),
		"page-80x24": press(wide(screen(80, 24)), "enter"), "page-120x40": press(wide(screen(120, 40)), "enter"), "page-40x24": press(wide(screen(40, 24)), "enter"),
		"page-ascii": press(wide(ascii), "enter"), "page-hang": press(wide(screen(80, 24)), "j", "j", "enter"), "page-waits": press(wide(screen(80, 24)), "G", "enter"),
		"page-ended": press(wide(screen(80, 24)), "enter").Seen(top.Look{At: now}), "help": press(wide(screen(80, 24)), "?"),
		"failed": failed, "began": began, "empty": empty, "leaving": leaving, "page-leaving": press(leaving, "enter"), "80x24-cost": screen(80, 24).Seen(paid), "40x24-cost": screen(40, 24).Seen(paid),
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, name+".txt", s.Frame()+"\n") })
	}
}

// TestFrames_colours holds that frames have no colours of their own but the red of what needs a look, bold: all else is
// the terminal's, on light ones as on dark ones.
func TestFrames_colours(t *testing.T) {
	codes := map[string]bool{}
	for _, keys := range [][]string{nil, {"enter"}, {"j", "j", "enter"}, {"?"}} {
		s := screen(100, 40)
		s.Colour = true
		for _, m := range regexp.MustCompile("\x1b\\[[^a-zA-Z]*[a-zA-Z]").FindAllString(press(s.Seen(guide()), keys...).Frame(), -1) {
			codes[m] = true
		}
	}
	got := slices.Sorted(maps.Keys(codes))
	if want := []string{"\x1b[1;31m", "\x1b[1m", "\x1b[2m", "\x1b[7m", "\x1b[m"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFrames_fit holds that no frame is wider or higher than its screen, whatever that is.
func TestFrames_fit(t *testing.T) {
	for _, keys := range [][]string{nil, {"G"}, {"j", "j", "j"}, {"enter"}, {"G", "enter"}, {"?"}} {
		for width := 1; width < 210; width += 9 {
			for height := 1; height < 60; height += 11 {
				s := screen(width, height)
				s.Colour, s.Unicode = width%2 == 0, height%2 == 0
				lines := strings.Split(press(s.Seen(guide()), keys...).Frame(), "\n")
				if len(lines) > height {
					t.Fatalf("%v on %d x %d: %d lines", keys, width, height, len(lines))
				}
				for _, l := range lines {
					if ansi.StringWidth(l) > width {
						t.Fatalf("%v on %d x %d: %q is %d wide", keys, width, height, l, ansi.StringWidth(l))
					}
					if s.Unicode {
						continue
					}
					if at := strings.IndexFunc(ansi.Strip(l), func(r rune) bool { return r > '~' || r < ' ' }); at >= 0 {
						t.Fatalf("%v on %d x %d: %q is not ASCII", keys, width, height, l)
					}
				}
			}
		}
	}
}

// TestKeys walks over jobs, and stays on one while others come and go.
func TestKeys(t *testing.T) {
	s := press(screen(80, 24).Seen(guide()), "enter")
	if s.Page() != 1 {
		t.Errorf("the page of job %d is shown, want that of the first", s.Page())
	}
	s = press(s, "down")
	if s.Page() != 2 {
		t.Errorf("the page of job %d is shown, want that of the next", s.Page())
	}
	less := guide()
	less.Jobs = less.Jobs[1:]
	s = press(press(s, "esc").Seen(less), "enter")
	if s.Page() != 2 {
		t.Errorf("the page of job %d is shown, want that of the one that was chosen", s.Page())
	}
	less.Jobs = less.Jobs[1:]
	s = press(press(s, "esc").Seen(less), "up", "up", "enter")
	if s.Page() != 3 {
		t.Errorf("the page of job %d is shown, want that of the first that is left", s.Page())
	}
	if s = press(s, "esc", "G", "j", "enter"); s.Page() != 9 {
		t.Errorf("the page of job %d is shown, want that of the last", s.Page())
	}
	for key, want := range map[string]top.Wish{"q": top.Quit, "ctrl+c": top.Stop, "r": top.LookNow, "j": top.Nothing, "?": top.Nothing, "x": top.Nothing, "enter": top.Nothing} {
		if _, got := s.Key(key); got != want {
			t.Errorf("key %s: got wish %d, want %d", key, got, want)
		}
	}
	if _, got := press(screen(80, 24).Seen(guide())).Key("enter"); got != top.LookNow {
		t.Errorf("a page that opens does not look at the job's output")
	}
	if press(screen(80, 24), "j", "k", "G", "enter", "esc").Page() != 0 {
		t.Errorf("there is a page of no job")
	}
}

// TestCurves_of_odd_values holds that no values break a curve.
func TestCurves_of_odd_values(t *testing.T) {
	for name, v := range map[string][]float64{
		"one": {7}, "equal": {7, 7, 7}, "far": {-math.MaxFloat64, math.MaxFloat64, 0}, "tiny": {0, math.SmallestNonzeroFloat64},
	} {
		l := guide()
		l.Jobs[0].Kept.Samples = nil
		for i, x := range v {
			l.Jobs[0].Kept.Samples = append(l.Jobs[0].Kept.Samples, client.JobSample{Step: int64(i), Loss: float(x)})
		}
		for _, s := range []top.Screen{screen(80, 24).Seen(l), press(screen(80, 40).Seen(l), "enter")} {
			if f := s.Frame(); strings.Contains(f, "NaN") || strings.Contains(f, "Inf") {
				t.Errorf("%s: got\n%s", name, f)
			}
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	s := screen(120, 40).Seen(guide())
	for b.Loop() {
		_ = s.Frame()
	}
}
