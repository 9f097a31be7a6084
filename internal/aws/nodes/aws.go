// Package nodes runs nodes on EC2. It starts instances in few calls and remembers what
// it was about to do, so that a crash at any line neither loses nor doubles a
// machine; it says in classes why a machine was refused; it ends machines at once.
//
// Which instance is which node stands in the instances' tags, written by the call
// that launches them. The journal is for what the tags cannot say: calls whose
// answer nobody has heard, and instances that EC2 does not show yet.
package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
	"github.com/muster-hpc/muster/internal/provider"
)

// Fleet is the compute nodes of a cluster on EC2. Open makes one.
type Fleet struct {
	Config
	clients
	book  book
	names *names
	ended chan string
	slots chan struct{}

	mu sync.Mutex // guards what follows
	// machines are those that live as far as we know, by ID; of is which of them is a
	// node's.
	machines map[string]*machine
	of       map[string]string
	// claims are those of launches under way, by node.
	claims map[string]*claim
	// open are the launches without an answer, answers those with one that the journal
	// still has.
	open    map[string]*intent
	answers map[string]answer
	// over are machines that we have ended, and when: EC2 may show them for a while.
	over map[string]time.Time
	// looked says that machines is more than what the journal knew.
	looked bool
	health health
}

var _ provider.Provider = (*Fleet)(nil)

// book is the journal.
type book interface {
	Begin(journal.Launch) error
	Answer(journal.Launch) error
	Settle(tokens ...string) error
	Close() error
}

// machine is an instance and how we know of it.
type machine struct {
	provider.Instance
	// launch is its token.
	launch string
	// learned is when we heard of it first, shown whether EC2 has listed it since.
	learned time.Time
	shown   bool
	// reason is EC2's code for why it ended.
	reason string
	// moved says that we gave it to another node than its launch did.
	moved bool
	// asked says that its end was asked for. EC2 may show the end before it answers.
	asked bool
}

// claim is what a launch under way has on its nodes.
type claim struct{ done chan struct{} }

// Open opens the fleet of a cluster: with its journal if there is one, without it
// from the instances' tags alone. Close ends it, and no node.
func Open(ctx context.Context, c Config) (*Fleet, error) {
	j, launches, damaged, err := journal.Open(c.Journal)
	if err != nil {
		return nil, err
	}
	if damaged > 0 {
		c.Log.Warn("lines of the journal of launches are damaged", "file", c.Journal, "lines", damaged)
	}
	return newFleet(ctx, c, j, launches), nil
}

func newFleet(ctx context.Context, c Config, b book, launches []journal.Launch) *Fleet {
	c.Limits = c.Limits.usual()
	if c.Now == nil {
		c.Now = time.Now
	}
	f := &Fleet{
		Config: c, clients: newClients(c.AWS, c.Limits), book: b,
		ended: make(chan string, 4096), slots: make(chan struct{}, c.Limits.Calls),
		machines: map[string]*machine{}, of: map[string]string{}, claims: map[string]*claim{},
		open: map[string]*intent{}, answers: map[string]answer{}, over: map[string]time.Time{},
	}
	f.names = newNames(ctx, f.clients, c)
	for _, l := range launches {
		f.recall(l)
	}
	return f
}

// recall takes a launch of the journal into account.
func (f *Fleet) recall(l journal.Launch) {
	if !l.Answered {
		f.open[l.Token] = newIntent(l)
		return
	}
	var r request
	if err := json.Unmarshal(l.Request, &r); err != nil {
		return // tags have the rest
	}
	f.answers[l.Token] = answer{at: l.At, fleet: r.Fleet != nil}
	for _, i := range l.Instances {
		f.add(&machine{Instance: provider.Instance{Node: i.Node, ID: i.ID, Started: i.Started, Address: i.Address}, launch: l.Token, learned: i.Started})
	}
}

// Close ends the work on names and closes the journal. Calls have to have ended.
func (f *Fleet) Close() error {
	f.names.close()
	return f.book.Close()
}

// Ended implements provider.Provider. EC2 does not tell that an instance ended:
// Observe finds out.
func (f *Fleet) Ended() <-chan string { return f.ended }

// add notes a machine. The caller holds mu.
func (f *Fleet) add(m *machine) {
	f.machines[m.ID] = m
	if m.Node != "" {
		f.of[m.Node] = m.ID
	}
}

// drop forgets a machine. The caller holds mu.
func (f *Fleet) drop(id string) {
	if m := f.machines[id]; m != nil && f.of[m.Node] == id {
		delete(f.of, m.Node)
	}
	delete(f.machines, id)
}

// list is what lives, in order. The caller holds mu.
func (f *Fleet) list() []provider.Instance {
	all := make([]provider.Instance, 0, len(f.machines))
	for _, id := range slices.Sorted(maps.Keys(f.machines)) {
		i := f.machines[id].Instance
		i.Health = slices.Clone(f.health.of[id])
		all = append(all, i)
	}
	return all
}

// ready looks at EC2 once before anything is done: a new fleet knows only what its
// journal knows.
func (f *Fleet) ready(ctx context.Context) error {
	f.mu.Lock()
	looked := f.looked
	f.mu.Unlock()
	if looked {
		return nil
	}
	if _, err := f.Observe(ctx); err != nil {
		return fmt.Errorf("look at the instances that there are: %w", err)
	}
	return nil
}

// Move gives the instance of a node to another node of its compute resource, which
// has none. moves are from the one to the other.
func (f *Fleet) Move(ctx context.Context, moves map[string]string) error {
	for _, from := range slices.Sorted(maps.Keys(moves)) {
		if err := f.move(ctx, from, moves[from]); err != nil {
			return fmt.Errorf("give the instance of %s to %s: %w", from, moves[from], err)
		}
	}
	return nil
}

func (f *Fleet) move(ctx context.Context, from, to string) error {
	f.mu.Lock()
	id, known := f.of[from]
	_, taken := f.of[to]
	f.mu.Unlock()
	if !known || taken {
		return fmt.Errorf("%s has an instance: %t, %s has one: %t", from, known, to, taken)
	}
	if err := f.tag(ctx, id, tagNode, to); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.machines[id]
	if m == nil {
		return fmt.Errorf("%s ended", id)
	}
	f.give(m, to)
	m.moved = true
	return nil
}

// give makes a machine a node's. The caller holds mu.
func (f *Fleet) give(m *machine, node string) {
	if f.of[m.Node] == m.ID {
		delete(f.of, m.Node)
		f.names.forget(m.Node, m.Address)
	}
	m.Node = node
	f.add(m)
	f.names.want(node, m.Address)
}
