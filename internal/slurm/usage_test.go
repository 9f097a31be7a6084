package slurm

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseUsage(t *testing.T) {
	const text = `7|7|whole|ada|lab|FAILED|13:0|2|384|00:03.750|10|||billing=384,cpu=384,mem=4G,node=2
7.batch|7.batch|whole|||FAILED|13:0|1|192|00:00.001|10|1.50M|1|cpu=192,node=1
7.0|7.0|whole|||COMPLETED|0:0|2|384|00:03.749|9|1000K|8|cpu=384,node=2
7.1|7.1|whole|||RUNNING|0:0|2|384|00:00:00|9|||cpu=384,node=2
`
	want := Usage{
		ID: "7", Label: "7", Cluster: "whole", User: "ada", Group: "lab", State: "FAILED", ExitCode: ExitCode{Code: 13}, Nodes: 2, CPUs: 384,
		CPUTime: 3 * time.Second, Elapsed: 10 * time.Second, MemoryBytes: 8000 << 10, Tasks: 8, GivenBytes: 4 << 30,
	}
	got, err := parseUsage(text)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, want -, got +:\n%s", err, diff)
	}
	for name, row := range map[string]string{
		"of_an_array": "12|9_3|whole|ada|lab|CANCELLED by 1000|0:15|1|2|1-00:00:01|86401|||cpu=2\n13|9_4|whole|ada|lab|RUNNING|0:0|1|2|00:00:00|1|||\n",
	} {
		got, err := parseUsage(row)
		if err != nil || got.Label != "9_3" || got.State != "CANCELLED" || got.ExitCode.Signal != 15 || got.CPUTime != 24*time.Hour+time.Second {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseUsage_refuses(t *testing.T) {
	if _, err := parseUsage(""); !errors.Is(err, ErrNoJob) {
		t.Errorf("of no job: %v", err)
	}
	for _, text := range []string{"7|7\n", "7|7|c|u|g|FAILED|x:0|2|4|00:01|10|||\n", "7|7|c|u|g|FAILED|1:0|2|4|00:01|10|||mem=x\n", "7.0|7.0|c|||FAILED|1:0|2|4|00:01|10|-1K|1|\n"} {
		if u, err := parseUsage(text); err == nil {
			t.Errorf("%q is %+v", text, u)
		}
	}
}

func FuzzParseUsage(f *testing.F) {
	f.Add("7|7|whole|ada|lab|FAILED|13:0|2|384|00:03.750|10|1.5M|8|billing=384,cpu=384,mem=4G,node=2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if u, err := parseUsage(text); err == nil && u.MemoryBytes < 0 {
			t.Errorf("%q is %+v", text, u)
		}
	})
}

// answers are what Slurm's programs print, by name.
type answers map[string]string

func (a answers) Run(_ context.Context, name string, _ ...string) ([]byte, error) {
	out, ok := a[name]
	if !ok {
		return nil, errors.New("not asked for")
	}
	return []byte(out), nil
}

// TestUsage_names_the_owner: the database learns late whose job it is, as recorded of an ordinary user's cluster.
func TestUsage_names_the_owner(t *testing.T) {
	const late = "7|7|whole|root|root|COMPLETED|0:0|1|1|00:00.003|0|||billing=1,cpu=1,node=1\n"
	const job = "JobId=7 JobName=wrap UserId=ada(1000) GroupId=lab(100) MCS_label=N/A JobState=COMPLETED ExitCode=0:0 SubmitTime=2026-01-01T00:00:00 Partition=q\n"
	for name, row := range map[string]struct {
		slurm answers
		want  string
	}{
		"slurmctld_knows":     {answers{"sacct": late, "scontrol": job}, "ada/lab"},
		"slurmctld_forgot_it": {answers{"sacct": late, "scontrol": "No jobs in the system\n"}, "root/root"},
		"slurmctld_is_away":   {answers{"sacct": late}, "root/root"},
	} {
		u, err := Client{Runner: row.slurm}.Usage(t.Context(), "7")
		if got := u.User + "/" + u.Group; err != nil || got != row.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, row.want)
		}
	}
}
