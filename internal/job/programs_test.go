package job_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// heardBy is what a user sees of a job, while muster hears it.
type heardBy struct {
	bytes.Buffer
	unheard *job.Unheard
}

func (h *heardBy) Write(p []byte) (int, error) {
	h.unheard.Hear("out", p, time.Now())
	return h.Buffer.Write(p)
}

// A job prints forty steps as a program does, a line each second: who follows it sees all, and its file says at each time how
// far it has come, as `muster job show` and `muster top` read it.
func TestFollowPrograms(t *testing.T) {
	logs, err := filepath.Glob("trainlog/testdata/progress/*.log")
	if err != nil || len(logs) < 13 {
		t.Fatalf("%d logs of programs: %v", len(logs), err)
	}
	for _, log := range logs {
		t.Run(strings.TrimSuffix(filepath.Base(log), ".log"), func(t *testing.T) {
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
			lines[len(lines)-1] = append(lines[len(lines)-1], '\n')
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				running := slurm.Job{State: "RUNNING", StartTime: begun, NumNodes: 1}
				p := &play{acts: []act{{0, running, nil, "starts\n", false}}}
				for i, line := range lines {
					p.acts = append(p.acts, act{time.Duration(i+1) * 4 * time.Second, running, nil, string(line), false})
				}
				ended := running
				ended.State, ended.EndTime = "COMPLETED", begun.Add(time.Duration(len(lines)+2)*4*time.Second)
				p.acts = append(p.acts, act{time.Duration(len(lines)+2) * 4 * time.Second, ended, nil, "ends\n", false})
				var unheard job.Unheard
				told := 0
				p.t, p.start, p.out = t, begun, filepath.Join(t.TempDir(), "out")
				shown := heardBy{unheard: &unheard}
				f := job.Follower{Slurm: p, Out: &shown, Err: io.Discard, Say: func(string) {}, Also: func(slurm.Job) error {
					if unheard.Tell(time.Now(), func() string { return "" }) != nil {
						told++
					}
					return nil
				}}
				if _, err := f.Follow(t.Context(), 7); err != nil || shown.String() != "starts\n"+string(text)+"ends\n" {
					t.Fatalf("%v; it shows %q", err, shown.String())
				}
				if told > 0 {
					t.Error("it is told that there is no line of progress")
				}
				last, found, err := job.ReadProgress(p.out, os.Getuid())
				if err != nil || !found || math.Abs(last.Loss.Float-(1+10/41.0)) > 0.001 || last.Step != 40 && last.Step != 20 {
					t.Errorf("the last progress is %+v, %v, %v", last, found, err)
				}
				curve := job.Curve{Path: p.out, UID: os.Getuid()}
				if err := curve.Look(); err != nil {
					t.Fatal(err)
				}
				losses := 0
				for _, s := range curve.Samples {
					if s.Loss.Known {
						losses++
					}
				}
				if losses != 40 {
					t.Errorf("the curve has %d losses", losses)
				}
			})
		})
	}
}
