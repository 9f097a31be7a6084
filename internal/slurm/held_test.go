package slurm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseHeldOfAllVersions(t *testing.T) {
	for version, want := range map[string]string{
		"22.05.8":  "7 REQUEUED 9s batch,0; 9 NODE_FAIL 1m16s batch",
		"23.11.10": "7 REQUEUED 8s batch,0; 9 NODE_FAIL 1m15s batch",
		"25.11.7":  "8 REQUEUED 8s batch,0; 10 NODE_FAIL 1m16s batch",
	} {
		held, problems := ParseHeld(sample(t, "slurm-"+version, "sacct-P.txt"), "|", time.UTC)
		if len(problems) > 0 {
			t.Errorf("%s: %v", version, problems)
		}
		runs, _ := ParseHistory(sample(t, "slurm-"+version, "sacct-P.txt"), "|", time.UTC)
		if len(runs) != len(held) {
			t.Errorf("%s: %d runs with steps, %d without", version, len(held), len(runs))
		}
		var got []string
		for _, h := range held {
			var names []string
			for _, s := range h.Steps {
				names = append(names, s.Name)
				if s.Start.Before(h.Start) || s.Start.After(h.End) {
					t.Errorf("%s: step %s of %s is of another run", version, s.Name, h.Label)
				}
			}
			if h.State == "REQUEUED" || h.State == "NODE_FAIL" && h.Elapsed > 0 {
				got = append(got, fmt.Sprintf("%s %s %s %s", h.Label, h.State, h.Elapsed, strings.Join(names, ",")))
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

func TestParseHeldFromTheField(t *testing.T) {
	held, problems := ParseHeld(sample(t, "slurm-field", "sacct-one-multiline.txt"), "|#", time.UTC)
	if len(held) != 2 || len(problems) != 0 || held[0].Account != "project" || held[1].State != "REQUEUED" || held[1].Eligible.IsZero() {
		t.Errorf("%+v, %v", held, problems)
	}
}

func TestHeldTasks(t *testing.T) {
	h := Held{Steps: []Step{{Name: "batch"}, {Name: "extern"}, {Name: "0"}, {Name: "12"}, {Name: "interactive"}}}
	if tasks := h.Tasks(); len(tasks) != 2 || tasks[1].Name != "12" || h.Steps[1].Program() || !h.Steps[0].Program() {
		t.Errorf("%+v", tasks)
	}
}

func TestNodeEvents(t *testing.T) {
	p := &programs{stdout: "NodeName|State|TimeStart|TimeEnd|User|Reason\n" +
		"|  |2026-11-23T14:26:51|Unknown||Cluster Registered TRES\n" +
		"p5e-1|DOWN*|2026-11-23T14:27:13|2026-11-23T14:27:17|slurm(64030)|Not responding\n" +
		"p5e-2|DRAIN|2026-11-23T14:27:13|Unknown|alice(1000)|fan | loud\n"}
	events, problems, err := Client{Runner: p, Location: time.UTC}.NodeEvents(t.Context(), Window{Since: at(t, "2026-11-20T00:00:00Z")})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := []NodeEvent{
		{Node: "p5e-1", State: "DOWN*", Start: at(t, "2026-11-23T14:27:13Z"), End: at(t, "2026-11-23T14:27:17Z"), Reason: "Not responding", User: "slurm"},
		{Node: "p5e-2", State: "DRAIN", Start: at(t, "2026-11-23T14:27:13Z"), Reason: "fan | loud", User: "alice"},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if got := p.asked[0]; got != "sacctmgr --parsable2 --readonly show event format=NodeName,State,TimeStart,TimeEnd,User,Reason start=2026-11-20T00:00:00" {
		t.Error(got)
	}
}

func TestScripts(t *testing.T) {
	line := strings.Repeat("-", 80) + "\n"
	p := &programs{stdout: "Batch Script for 7\n" + line + "#!/bin/sh\necho 7\n\nBatch Script for 8\n" + line + "NONE\nBatch Script for 9\n" + line + "#!/bin/sh\necho 9\n"}
	got, err := Client{Runner: p}.Scripts(t.Context(), []int{7, 8, 9})
	if err != nil || len(got) != 2 || !strings.Contains(string(got[7]), "echo 7") || strings.Contains(string(got[7]), "Batch") || !strings.Contains(string(got[9]), "echo 9") {
		t.Errorf("%v, %v", got, err)
	}
	if p.asked[0] != "sacct --batch-script --jobs=7,8,9" {
		t.Error(p.asked[0])
	}
}
