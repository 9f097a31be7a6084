//go:build linux

package load

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tie"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

//go:embed collectives.py
var collectivesProgram string

// CollectiveOptions are what collectives are measured with.
type CollectiveOptions struct {
	// In is what the ranks write and Out what they all read. Out is closed at the end, if it can be; In has to end then.
	In  io.Reader
	Out io.Writer
	// Ranks is how many Slurm starts.
	Ranks int
	// Towards is an address of the network that is measured; empty is the network of the nodes' names.
	Towards string
	// Backend is gloo or nccl, empty is gloo.
	Backend string
	// MaxBytes is the size of the largest messages, from 8 bytes on by a Factor of 2 or 4. 0 are 16 MiB and 4.
	MaxBytes int64
	Factor   int
	// Seconds is the time for all of it when the ranks have met, 0 is 60. Sizes for which there is no time are measured once, and left out
	// after LimitSeconds; 0 leaves them out at once.
	Seconds, LimitSeconds float64
	// Operations are those of Operations, all if empty.
	Operations []string
	// Else is given what the ranks' programs print besides, such as NCCL's lines; nil hears none of it.
	Else func(line string)
	// ReadyWait is how long the ranks may take to start, 0 is two minutes: a cold file system has much of Python to read.
	ReadyWait time.Duration
	// Begun is told of each operation when its first row has come; nil for nobody.
	Begun func(operation string)
}

// Operations are the collectives that are known, as nccl-tests names them.
func Operations() []string {
	return []string{"all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "alltoall"}
}

// Collectives is what ranks measured.
type Collectives struct {
	// Measured are the operations that have rows, in their order. One is whole if all of its sizes were measured.
	Measured []meter.Collective
	// Wrong are nodes where data were wrong, with what.
	Wrong map[string]string
	// Blind are nodes that could not take part, such as without torch, with why: then nothing was measured. Broken are those that
	// failed on the way.
	Blind  map[string]string
	Broken map[string]string
	// Notes say how an operation was measured, by its name.
	Notes map[string]string
	// Torch are versions, by node.
	Torch map[string]string
}

type collectiveTold struct {
	Do         string   `json:"do"`
	Towards    string   `json:"towards,omitempty"`
	Backend    string   `json:"backend,omitempty"`
	Max        int64    `json:"max,omitempty"`
	Factor     int      `json:"factor,omitempty"`
	Seconds    float64  `json:"seconds,omitempty"`
	Limit      float64  `json:"limit,omitempty"`
	Operations []string `json:"operations,omitempty"`
	Address    string   `json:"address,omitempty"`
	Port       int      `json:"port,omitempty"`
}

type collectiveSaid struct {
	Kind    string  `json:"kind"`
	Node    string  `json:"node"`
	Rank    int     `json:"rank"`
	Why     string  `json:"why"`
	Torch   string  `json:"torch"`
	Address string  `json:"address"`
	Port    int     `json:"port"`
	Op      string  `json:"op"`
	Bytes   int64   `json:"bytes"`
	Count   int64   `json:"count"`
	RedOp   string  `json:"redop"`
	Root    int     `json:"root"`
	Us      float64 `json:"us"`
	Alg     float64 `json:"alg"`
	Bus     float64 `json:"bus"`
	Wrong   int64   `json:"wrong"`
	InPlace bool    `json:"inplace"`
}

func (o *CollectiveOptions) defaults() {
	o.Backend = cmp.Or(o.Backend, "gloo")
	o.MaxBytes = max(8, cmp.Or(o.MaxBytes, 16<<20))
	o.Factor = max(2, cmp.Or(o.Factor, 4))
	o.Seconds = cmp.Or(o.Seconds, 60)
	o.ReadyWait = cmp.Or(o.ReadyWait, 2*time.Minute)
	if len(o.Operations) == 0 {
		o.Operations = Operations()
	}
}

// MeasureCollectives leads the ranks of a step, each of which runs `muster agent verify collectives`. What came until an error counts.
func MeasureCollectives(ctx context.Context, o CollectiveOptions) (Collectives, error) {
	o.defaults()
	c := collecting{o: o, ready: map[int]bool{}, ended: map[int]bool{}, said: make(chan collectiveSaid), rows: map[string][]meter.Row{}}
	c.Wrong, c.Blind, c.Broken, c.Notes, c.Torch = map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	go c.hear()
	err := c.lead(ctx)
	if closer, ok := o.Out.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	for range c.said { // to its end
	}
	c.gather()
	return c.Collectives, err
}

type collecting struct {
	Collectives
	o            CollectiveOptions
	said         chan collectiveSaid
	ready, ended map[int]bool
	store        *collectiveSaid
	rows         map[string][]meter.Row
}

// lead takes the ranks through: begin, meet, join, end.
func (c *collecting) lead(ctx context.Context) error {
	c.tell(collectiveTold{Do: "begin", Towards: c.o.Towards, Backend: c.o.Backend, Max: c.o.MaxBytes, Factor: c.o.Factor, Seconds: c.o.Seconds, Limit: c.o.LimitSeconds, Operations: c.o.Operations})
	if err := c.await(ctx, c.o.ReadyWait, func() bool { return len(c.ready) >= c.o.Ranks || len(c.Blind) > 0 || len(c.Broken) > 0 }); err != nil {
		return fmt.Errorf("wait for %d ranks, of which %d are ready: %w", c.o.Ranks, len(c.ready), err)
	}
	if len(c.Blind) > 0 || len(c.Broken) > 0 {
		return nil
	}
	c.tell(collectiveTold{Do: "meet"})
	if err := c.await(ctx, time.Minute, func() bool { return c.store != nil || len(c.Broken) > 0 }); err != nil || c.store == nil {
		return errors.Join(errors.New("rank 0 told no place to meet"), err)
	}
	c.tell(collectiveTold{Do: "join", Address: c.store.Address, Port: c.store.Port})
	limit := time.Duration(max(c.o.Seconds*2, c.o.LimitSeconds)*float64(time.Second)) + 3*time.Minute
	if err := c.await(ctx, limit, func() bool { return len(c.ended) >= c.o.Ranks }); err != nil {
		return fmt.Errorf("measure collectives: %w", err)
	}
	return nil
}

func (c *collecting) tell(told collectiveTold) {
	text, err := json.Marshal(told)
	if err == nil {
		_, _ = c.o.Out.Write(append(text, '\n')) // those who do not hear it will not answer
	}
}

func (c *collecting) await(ctx context.Context, limit time.Duration, enough func() bool) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	for !enough() {
		select {
		case s, ok := <-c.said:
			if !ok {
				return errors.New("the ranks have ended")
			}
			c.take(s)
		case <-over.C:
			return errors.New("it took longer than " + limit.String())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *collecting) hear() {
	defer close(c.said)
	to := c.said
	lines := bufio.NewReaderSize(c.o.In, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		var s collectiveSaid
		if !errors.Is(err, bufio.ErrBufferFull) && json.Unmarshal(line, &s) == nil && s.Node != "" {
			s.Node, s.Why, s.Torch = tidyWhy(s.Node), tidyWhy(s.Why), tidyWhy(s.Torch)
			to <- s
		} else if c.o.Else != nil && len(line) > 0 {
			c.o.Else(strings.TrimRight(string(line), "\n"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// take takes what a rank says. What cannot be is not taken.
func (c *collecting) take(s collectiveSaid) {
	known := slices.Contains(c.o.Operations, s.Op)
	switch s.Kind {
	case "ready":
		c.ready[s.Rank] = true
		c.Torch[s.Node] = s.Torch
	case "blind":
		c.Blind[s.Node] = s.Why
	case "store":
		if _, err := netip.ParseAddr(s.Address); err == nil && s.Rank == 0 {
			c.store = &s
		}
	case "row":
		if known && s.Rank == 0 && s.Us > 0 && len(c.rows[s.Op]) < meter.RowLimit {
			if len(c.rows[s.Op]) == 0 && c.o.Begun != nil {
				c.o.Begun(s.Op)
			}
			c.rows[s.Op] = append(c.rows[s.Op], s.row())
		}
	case "wrong":
		c.Wrong[s.Node] = fmt.Sprintf("%d values of %s with %d bytes on rank %d", s.Wrong, s.Op, s.Bytes, s.Rank)
	case "note":
		if known {
			c.Notes[s.Op] = strings.TrimPrefix(c.Notes[s.Op]+"; "+s.Why, "; ")
		}
	case "broken":
		c.Broken[s.Node] = s.Why
		c.ended[s.Rank] = true
	case "end":
		c.ended[s.Rank] = true
	}
}

func (s collectiveSaid) row() meter.Row {
	wrong := s.Wrong
	m := &meter.Measure{TimeUs: s.Us, AlgGBps: s.Alg, BusGBps: s.Bus, Wrong: &wrong}
	r := meter.Row{Bytes: s.Bytes, Count: s.Count, Type: "float", RedOp: tidyWhy(s.RedOp), Root: s.Root}
	if s.InPlace {
		r.InPlace = m
	} else {
		r.OutOfPlace = m
	}
	return r
}

// gather makes the rows of an operation what a program of nccl-tests says.
func (c *collecting) gather() {
	for _, name := range c.o.Operations {
		rows := c.rows[name]
		if len(rows) == 0 {
			continue
		}
		one := meter.Collective{Name: name, Ranks: c.o.Ranks, Rows: rows}
		var wrong int64
		for _, r := range rows {
			m := cmp.Or(r.InPlace, r.OutOfPlace)
			wrong += *m.Wrong
			one.AvgBusGBps += m.BusGBps / float64(len(rows))
		}
		one.OutOfBounds = &wrong
		if one.Whole = rows[len(rows)-1].Bytes*int64(c.o.Factor) > c.o.MaxBytes; !one.Whole {
			one.Problems = []string{"larger messages were not measured"}
		}
		c.Measured = append(c.Measured, one)
	}
}

// BrokenRank is what is told in the place of a rank that ended without a word.
func BrokenRank(node string, rank int, why error) string {
	text, err := json.Marshal(map[string]any{"kind": "broken", "node": node, "rank": rank, "why": tidyWhy("it ended: " + why.Error())})
	if err != nil {
		return ""
	}
	return string(text)
}

// BecomeCollectives replaces this process by a Python that has torch, as one rank: the one that is given, python3, or where systems
// and images have it. If there is none, it says so as a rank.
func BecomeCollectives(ctx context.Context, python, node string, rank int, out io.Writer, env []string) error {
	tried := map[string]string{}
	for _, name := range []string{python, "python3", "/usr/bin/python3", "/opt/conda/bin/python3", "/opt/venv/bin/python3"} {
		path, err := exec.LookPath(name)
		if name == "" || err != nil {
			continue
		}
		if tried[path], err = hasTorch(ctx, path); err == nil {
			return tie.Become([]string{path, "-u", "-c", collectivesProgram}, env)
		}
	}
	why := "there is no Python"
	if len(tried) > 0 {
		why = "no Python here has torch: " + strings.Join(slices.Sorted(maps.Keys(tried)), ", ")
	}
	return json.NewEncoder(out).Encode(map[string]any{"kind": "blind", "node": node, "rank": rank, "why": tidyWhy(why)})
}

func hasTorch(ctx context.Context, path string) (said string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it took longer than a minute"))
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)").CombinedOutput()
	return tidyWhy(string(out)), err
}
