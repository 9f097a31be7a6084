package status

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestNodeState(t *testing.T) {
	for slurmState, want := range map[string]string{
		"IDLE+CLOUD":                                 "idle",
		"IDLE+CLOUD+POWERED_DOWN":                    "powered down",
		"IDLE+CLOUD+POWERING_DOWN":                   "powering down",
		"IDLE+CLOUD+POWERING_UP":                     "powering up",
		"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP": "powering up",
		"ALLOCATED+CLOUD":                            "allocated",
		"MIXED+CLOUD":                                "mixed",
		"IDLE+COMPLETING":                            "completing",
		"MIXED+CLOUD+DRAIN":                          "draining",
		"IDLE+CLOUD+DRAIN":                           "drained",
		"IDLE+CLOUD+DRAIN+POWERED_DOWN":              "drained",
		"DOWN+CLOUD":                                 "down",
		"DOWN+CLOUD+POWERED_DOWN":                    "down",
		"DOWN+CLOUD+POWERING_DOWN":                   "powering down",
		"IDLE+CLOUD+NOT_RESPONDING":                  "not responding",
		"IDLE+MAINTENANCE+RESERVED":                  "maintenance",
		"SOMETHING_NEW":                              "unknown",
	} {
		got := NodeState(slurm.ParseNodeState(slurmState))
		if got != want {
			t.Errorf("%s is %q, want %q", slurmState, got, want)
		}
		if !slices.Contains(nodeStates, got) {
			t.Errorf("%q is not in nodeStates and would not be shown", got)
		}
	}
}

// Each look waits for all others to have begun: one after the other they would never end.
func TestAll_looks_at_all_at_the_same_time(t *testing.T) {
	var begun sync.WaitGroup
	names := []string{"c", "a", "b"}
	begun.Add(len(names))
	all := All(names, func(name string) Cluster {
		begun.Done()
		begun.Wait()
		return Cluster{Name: name}
	})
	if diff := cmp.Diff([]Cluster{{Name: "c"}, {Name: "a"}, {Name: "b"}}, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all := All(nil, func(string) Cluster { return Cluster{} }); all == nil || len(all) != 0 {
		t.Errorf("of no clusters: %v", all)
	}
}

// answers is a Slurm that says what is written down.
type answers map[string]string

func (a answers) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	for end, text := range a {
		if strings.HasSuffix(line, end) {
			return []byte(text), nil
		}
	}
	return nil, &slurm.ProgramError{Program: line, Stderr: "Unable to contact slurm controller (connect failure)", Err: errors.New("exit status 1")}
}

func TestStatusIsBlindForWhatDoesNotAnswer(t *testing.T) {
	var s Cluster
	s.LookAtSlurm(t.Context(), slurm.Client{Runner: answers{}})
	want := Cluster{Blind: []string{
		"nodes: scontrol --oneliner --all --detail show node: Unable to contact slurm controller (connect failure)",
		"jobs: scontrol --oneliner --all show job: Unable to contact slurm controller (connect failure)",
	}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// words are what is a place's own.
type words []string

func (words) Show(*page.Table) {}

// TestClusterJSON holds that what is a place's own stands below its name, and that people can read it.
func TestClusterJSON(t *testing.T) {
	for _, row := range []struct {
		name string
		own  Own
		want string
	}{
		{"without", nil, `{"name":"c","place":"moon","state":"up","healthy":false,"dir":"","look":["a -> b"]}`},
		{"with", words{"<"}, `{"name":"c","place":"moon","state":"up","healthy":false,"dir":"","look":["a -> b"],"moon":["<"]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Cluster{Name: "c", Place: "moon", State: "up", Look: []string{"a -> b"}, Own: row.own}.MarshalJSON()
			if diff := cmp.Diff(row.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
