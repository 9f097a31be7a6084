package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// held are reservations of Slurm, and what was asked of it.
type held struct {
	all   map[string]string // node lists by name
	calls []string
	fails string // the call that fails
}

func (h *held) done(call string) error {
	h.calls = append(h.calls, call)
	if verb, _, _ := strings.Cut(call, " "); verb == h.fails {
		return errors.New("no answer")
	}
	return nil
}

func (h *held) Reservations(context.Context) (all []slurm.Reservation, err error) {
	for name, nodes := range h.all {
		all = append(all, slurm.Reservation{Name: name, NodeList: nodes})
	}
	return all, h.done("list")
}

func (h *held) Reserve(_ context.Context, name string, nodes []string) error {
	h.all[name] = slurm.Compress(nodes)
	return h.done("reserve " + name + " " + h.all[name])
}

func (h *held) Unreserve(_ context.Context, name string) error {
	delete(h.all, name)
	return h.done("end " + name)
}

// blockKeeper is a controller that does nothing but keep blocks.
func blockKeeper(t *testing.T, h *held, ask func() ([]fleet.Block, error)) *Controller {
	events, err := OpenEvents(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { events.Close() })
	return &Controller{
		Config: Config{Blocks: func(context.Context) ([]fleet.Block, error) { return ask() }, Reservations: h, Events: events, Log: slog.New(slog.DiscardHandler)},
	}
}

func nodesOf(resource string, names ...string) (all []fleet.Node) {
	for _, n := range names {
		all = append(all, fleet.Node{Name: n, Resource: slurm.Resource{Queue: "q", Name: resource}})
	}
	return all
}

func TestKeepBlocks_reserves_what_is_not_active(t *testing.T) {
	ours := func(active bool) fleet.Block {
		return fleet.Block{ID: "cr-1", Resource: slurm.Resource{Queue: "q", Name: "r"}, Active: active}
	}
	two := nodesOf("r", "q-dy-r-1", "q-dy-r-2")
	for _, row := range []struct {
		name  string
		have  map[string]string
		block fleet.Block
		nodes []fleet.Node
		fails string
		want  []string
		err   string
	}{
		{"not_yet_active", nil, ours(false), two, "", []string{"list", "reserve muster-cr-1 q-dy-r-[1-2]"}, ""},
		{"reserved_already", map[string]string{"muster-cr-1": "q-dy-r-[1-2]"}, ours(false), two, "", []string{"list"}, ""},
		{"with_other_nodes", map[string]string{"muster-cr-1": "q-dy-r-1"}, ours(false), two, "", []string{"list", "reserve muster-cr-1 q-dy-r-[1-2]"}, ""},
		{"active", map[string]string{"muster-cr-1": "q-dy-r-[1-2]"}, ours(true), two, "", []string{"list", "end muster-cr-1"}, ""},
		{"active_and_free", nil, ours(true), two, "", []string{"list"}, ""},
		{"of_no_node", map[string]string{"muster-cr-1": "q-dy-r-1"}, ours(false), nodesOf("other", "q-dy-other-1"), "", []string{"list", "end muster-cr-1"}, ""},
		{"a_users", map[string]string{"muster-c": "q-dy-r-1"}, ours(true), two, "", []string{"list"}, ""},
		{"no_list", nil, ours(false), two, "list", []string{"list"}, "ask Slurm for its reservations: no answer"},
		{"not_reserved", nil, ours(false), two, "reserve", []string{"list", "reserve muster-cr-1 q-dy-r-[1-2]"}, "reserve 2 nodes until their capacity block is active: no answer"},
		{"not_ended", map[string]string{"muster-cr-1": "q-dy-r-1"}, ours(true), two, "end", []string{"list", "end muster-cr-1"}, "end reservation muster-cr-1: no answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &held{all: map[string]string{}, fails: row.fails}
			for name, nodes := range row.have {
				h.all[name] = nodes
			}
			c := blockKeeper(t, h, func() ([]fleet.Block, error) { return []fleet.Block{row.block}, nil })
			err := c.keepBlocks(t.Context(), row.nodes)
			if got := fmt.Sprint(err); err != nil && got != row.err || err == nil && row.err != "" {
				t.Errorf("got %v, want %q", err, row.err)
			}
			if !slices.Equal(h.calls, row.want) {
				t.Errorf("got %q, want %q", h.calls, row.want)
			}
		})
	}
}

// TestKeepBlocks_asks_once_a_minute holds that EC2 is not asked more often, whether it
// answers or not, and that Slurm is asked again at once.
func TestKeepBlocks_asks_once_a_minute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, silent := 0, error(nil)
		h := &held{all: map[string]string{}}
		c := blockKeeper(t, h, func() ([]fleet.Block, error) { asked++; return nil, silent })
		for _, row := range []struct {
			name  string
			wait  time.Duration
			ec2   error
			slurm string
			want  int
		}{
			{"first", 0, nil, "", 1},
			{"within_the_minute", blocksEvery - 1, nil, "", 1},
			{"after_it", 1, errors.New("no answer"), "", 2},
			{"within_a_minute_of_silence", blocksEvery - 1, nil, "", 2},
			{"after_the_silence", 1, nil, "list", 3},
			{"after_Slurm_was_silent", 0, nil, "", 4},
		} {
			<-time.After(row.wait)
			silent, h.fails = row.ec2, row.slurm
			if err := c.keepBlocks(t.Context(), nil); (err != nil) != (row.slurm != "") {
				t.Errorf("%s: %v", row.name, err)
			}
			if asked != row.want {
				t.Errorf("%s: EC2 was asked %d times, want %d", row.name, asked, row.want)
			}
		}
	})
}

func TestSayEnded_names_blocks_that_are_over(t *testing.T) {
	end := time.Date(2026, 3, 1, 11, 30, 0, 0, time.UTC)
	of := slurm.Resource{Queue: "q", Name: "r"}
	for _, row := range []struct {
		name  string
		block fleet.Block
		after time.Duration
		want  bool
	}{
		{"over", fleet.Block{End: end, Resource: of}, time.Second, true},
		{"at_its_end", fleet.Block{End: end, Resource: of}, 0, false},
		{"active_all_the_same", fleet.Block{End: end, Resource: of, Active: true}, time.Second, false},
		{"without_end", fleet.Block{Resource: of}, time.Second, false},
		{"of_no_node", fleet.Block{End: end}, time.Second, false},
	} {
		c := &Controller{}
		c.sayEnded([]fleet.Block{row.block}, nodesOf("r", "q-dy-r-1"), end.Add(row.after))
		if got := len(c.over) > 0; got != row.want {
			t.Errorf("%s: %q", row.name, c.over)
		}
	}
}
