package controller

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// partitions are Slurm's, and what was made of them.
type partitions struct {
	all   []slurm.Partition
	set   []string
	fails bool
}

func (p *partitions) Partitions(context.Context) ([]slurm.Partition, error) { return p.all, nil }

func (p *partitions) SetPartition(_ context.Context, name, state string) error {
	p.set = append(p.set, name+" "+state)
	if p.fails {
		return errors.New("no answer")
	}
	return nil
}

// TestKeepPartitions_closes_and_opens holds what a stopped fleet and a protected queue
// make of the partitions, and that only what was closed here is opened again.
func TestKeepPartitions_closes_and_opens(t *testing.T) {
	up, off := []slurm.Partition{{Name: "q", State: "UP"}}, []slurm.Partition{{Name: "q", State: inactive}}
	ours := map[string]string{"q": "DRAIN"}
	for _, row := range []struct {
		name  string
		now   DesiredState
		have  []slurm.Partition
		fails bool
		want  []string
		kept  map[string]string
		err   string
	}{
		{"nothing", DesiredState{}, off, false, nil, nil, ""},
		{"stopped", DesiredState{Stopped: &Stopped{}}, up, false, []string{"q INACTIVE"}, map[string]string{"q": "UP"}, ""},
		{"stopped_and_closed_by_others", DesiredState{Stopped: &Stopped{}}, off, false, nil, nil, ""},
		{"protected", DesiredState{Protected: map[string]Protected{"q": {}}}, up, false, []string{"q INACTIVE"}, map[string]string{"q": "UP"}, ""},
		{"another_is_protected", DesiredState{Protected: map[string]Protected{"p": {}}}, up, false, nil, nil, ""},
		{"protected_and_opened_by_slurmctld", DesiredState{Protected: map[string]Protected{"q": {}}, Closed: ours}, up, false, []string{"q INACTIVE"}, ours, ""},
		{"over", DesiredState{Closed: ours}, off, false, []string{"q DRAIN"}, nil, ""},
		{"over_and_opened_by_others", DesiredState{Closed: ours}, up, false, nil, nil, ""},
		{"not_closed", DesiredState{Stopped: &Stopped{}}, up, true, []string{"q INACTIVE"}, map[string]string{"q": "UP"}, "make partition q inactive: no answer"},
		{"not_opened", DesiredState{Closed: ours}, off, true, []string{"q DRAIN"}, ours, "make partition q active again: no answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &partitions{all: row.have, fails: row.fails}
			c := New(Config{Partitions: p, State: filepath.Join(t.TempDir(), "fleet.json")})
			c.desired.now = row.now
			err := c.keepPartitions(t.Context())
			if err != nil && err.Error() != row.err || err == nil && row.err != "" {
				t.Errorf("got %v, want %q", err, row.err)
			}
			if !slices.Equal(p.set, row.want) {
				t.Errorf("got %q, want %q", p.set, row.want)
			}
			got := c.desired.get().Closed
			if len(got) != len(row.kept) || got["q"] != row.kept["q"] {
				t.Errorf("kept %v, want %v", got, row.kept)
			}
		})
	}
}

func TestDesired_counts_when_it_is_on_disk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "fleet.json")
	c := New(Config{Partitions: &partitions{all: []slurm.Partition{{Name: "q", State: "UP"}}}, State: path})
	c.desired.now = DesiredState{Stopped: &Stopped{}}
	if err := c.keepPartitions(t.Context()); err == nil {
		t.Error("a partition is closed without a note that it is")
	}
	if got := c.desired.get().Closed; len(got) > 0 {
		t.Errorf("%v is said to be closed", got)
	}
	other := desired{path: c.desired.path}
	if renewed, err := other.open(""); renewed || err != nil {
		t.Errorf("without a file: %v, %v", renewed, err)
	}
}
