package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/verify/burnin"
)

// Fleet starts and ends the nodes of a local cluster. It must run in the
// anchor's namespaces. It keeps no record of what runs: the kernel does.
type Fleet struct {
	layout *Layout
	watch  *watcher
	doors  *doors

	mu   sync.Mutex // guards what follows
	busy map[string]*sync.Mutex
	// proofs are those that were read.
	proofs map[life]*provider.Proof
}

var _ provider.Provider = (*Fleet)(nil)

// launchesAtOnce is how many nodes are booted at the same time.
const launchesAtOnce = 4

// NewFleet returns the fleet of the cluster of a run directory. Nodes that run
// already are adopted. Close ends it, and no node.
func NewFleet(l *Layout) (*Fleet, error) {
	f := &Fleet{layout: l, busy: map[string]*sync.Mutex{}, proofs: map[life]*provider.Proof{}, doors: &doors{layout: l, open: map[string]net.Listener{}}}
	f.watch = newWatcher(f.lost)
	inits, err := nodeInits(ownAnchor)
	for _, i := range inits {
		err = errors.Join(err, f.watch.add(i))
	}
	if err != nil {
		return nil, errors.Join(err, f.watch.close())
	}
	return f, nil
}

// Close stops watching, and answering SSH.
func (f *Fleet) Close() error {
	f.doors.shutAll()
	return f.watch.close()
}

// ServeSSH has this command line serve each connection of SSH to a machine, on it, and end
// one that has not logged in after the grace. It is called before the first launch.
func (f *Fleet) ServeSSH(server []string, grace time.Duration) error {
	f.doors.server, f.doors.arrivals = server, arrivals{most: mostNew, grace: grace}
	if err := f.doors.openHead(); err != nil {
		return err
	}
	inits, err := nodeInits(ownAnchor)
	for _, i := range inits {
		err = errors.Join(err, f.doors.openNode(i.name, i.pid))
	}
	return err
}

// Ended implements provider.Provider.
func (f *Fleet) Ended() <-chan string { return f.watch.ended }

// Observe implements provider.Provider.
func (f *Fleet) Observe(context.Context) ([]provider.Instance, error) {
	all, err := Running(AnchorProcess{PID: ownAnchor})
	if err == nil {
		f.readProofs(all)
	}
	return all, err
}

// Launch implements provider.Provider.
func (f *Fleet) Launch(ctx context.Context, orders []provider.Order, started func([]provider.Instance)) map[string]error {
	record, addresses, err := f.load()
	if err != nil {
		return provider.AllFail(orders, err)
	}
	var mu sync.Mutex // guards failed and fresh
	failed, fresh := map[string]error{}, map[string]bool{}
	var group errgroup.Group
	group.SetLimit(launchesAtOnce)
	for _, n := range f.possible(orders, addresses, failed) {
		group.Go(func() error {
			made, err := f.launch(ctx, n, record, addresses)
			mu.Lock()
			if err != nil {
				failed[n] = err
			}
			fresh[n] = made
			mu.Unlock()
			return nil
		})
	}
	_ = group.Wait()
	f.undo(ctx, orders, failed, fresh)
	f.tell(ctx, orders, failed, started)
	return failed
}

// possible are the nodes to be started. Whole orders that are known to fail fail
// before anything is started for them.
func (f *Fleet) possible(orders []provider.Order, addresses map[string]netip.Addr, failed map[string]error) []string {
	var nodes []string
	for _, o := range orders {
		i := slices.IndexFunc(o.Nodes, func(n string) bool { return !addresses[n].IsValid() })
		if o.Whole && i >= 0 {
			maps.Copy(failed, provider.AllFail([]provider.Order{o}, noSuchNode(o.Nodes[i])))
			continue
		}
		nodes = append(nodes, o.Nodes...)
	}
	return nodes
}

func noSuchNode(name string) error { return fmt.Errorf("node %s is not in the cluster file", name) }

// undo ends what was started for whole orders that failed.
func (f *Fleet) undo(ctx context.Context, orders []provider.Order, failed map[string]error, fresh map[string]bool) {
	for _, o := range orders {
		i := slices.IndexFunc(o.Nodes, func(n string) bool { return failed[n] != nil })
		if !o.Whole || i < 0 {
			continue
		}
		var end []string
		for _, n := range o.Nodes {
			if failed[n] == nil {
				failed[n] = fmt.Errorf("%s did not start: %w", o.Nodes[i], provider.ErrIncomplete)
			}
			if fresh[n] {
				end = append(end, n)
			}
		}
		// Instances that are left are ended after the controller's next look.
		_ = f.Terminate(context.WithoutCancel(ctx), end)
	}
}

// tell says which nodes of the orders have an instance now.
func (f *Fleet) tell(ctx context.Context, orders []provider.Order, failed map[string]error, started func([]provider.Instance)) {
	if started == nil {
		return
	}
	instances, err := f.Observe(ctx)
	if err != nil {
		return // the controller looks by itself, too
	}
	wanted := map[string]bool{}
	for _, o := range orders {
		for _, n := range o.Nodes {
			wanted[n] = failed[n] == nil
		}
	}
	started(slices.DeleteFunc(instances, func(i provider.Instance) bool { return !wanted[i.Node] }))
}

func (f *Fleet) load() (Record, map[string]netip.Addr, error) {
	record, err := f.layout.Record()
	if err != nil {
		return record, nil, err
	}
	addresses, err := f.layout.Addresses()
	return record, addresses, err
}

// launch starts a node, unless it runs already.
func (f *Fleet) launch(ctx context.Context, name string, r Record, addresses map[string]netip.Addr) (made bool, err error) {
	defer f.alone(name)()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	address, ok := addresses[name]
	if !ok {
		return false, noSuchNode(name)
	}
	if i, err := findInit(ownAnchor, name); err != nil || i != nil {
		return false, err
	}
	return true, f.boot(name, address, r)
}

func (f *Fleet) boot(name string, address netip.Addr, r Record) error {
	if err := f.layout.clean(name); err != nil {
		return fmt.Errorf("clean up after an earlier %s: %w", name, err)
	}
	if err := errors.Join(machine.Unplug(machine.Port(address)), release(address)); err != nil {
		return err
	}
	binds, err := f.layout.nodeBinds(name, r)
	if err != nil {
		return err
	}
	files, err := ownFiles(r)
	if err != nil {
		return err
	}
	pid, err := f.layout.start(node{
		Name: name, Address: address, Binds: binds, Files: files, EFA: slices.Contains(r.EFA, name),
		Log: f.layout.Path("log", "nodes", name+".log"),
	})
	if err != nil {
		return fmt.Errorf("boot %s: %w", name, err)
	}
	return errors.Join(f.watch.add(nodeInit{name: name, pid: pid}), f.doors.openNode(name, pid))
}

// lost cleans up after a node that ended without being asked to.
func (f *Fleet) lost(name string) {
	defer f.alone(name)()
	if i, err := findInit(ownAnchor, name); err != nil || i != nil {
		return // there is a new one already
	}
	f.doors.shut(name)
	if addresses, err := f.layout.Addresses(); err == nil {
		if a, ok := addresses[name]; ok {
			// Without these, others only notice later.
			_ = errors.Join(machine.Unplug(machine.Port(a)), markDead(a))
		}
	}
	_ = f.layout.clean(name) // tried again before the next launch
}

// Terminate implements provider.Provider.
func (f *Fleet) Terminate(ctx context.Context, nodes []string) error {
	inits, err := nodeInits(ownAnchor)
	if err != nil {
		return err
	}
	addresses, err := f.layout.Addresses()
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(launchesAtOnce)
	for _, i := range inits {
		if !slices.Contains(nodes, i.name) && !slices.Contains(nodes, strconv.Itoa(i.pid)) {
			continue
		}
		group.Go(func() error {
			defer f.alone(i.name)()
			f.watch.expect(i.pid)
			f.doors.shut(i.name)
			if err := i.kill(ctx); err != nil {
				return fmt.Errorf("end %s: %w", i.name, err)
			}
			if a, ok := addresses[i.name]; ok {
				if err := machine.Unplug(machine.Port(a)); err != nil {
					return err
				}
			}
			return f.layout.clean(i.name)
		})
	}
	return group.Wait()
}

// alone holds a node's lock until the returned function is called: one boot or
// end of a node at a time.
func (f *Fleet) alone(name string) (release func()) {
	f.mu.Lock()
	m := f.busy[name]
	if m == nil {
		m = &sync.Mutex{}
		f.busy[name] = m
	}
	f.mu.Unlock()
	m.Lock()
	return m.Unlock
}

// nodeBinds are a node's own disk and what it shares with the others.
func (l *Layout) nodeBinds(name string, r Record) ([]Mount, error) {
	own := map[string]string{"tmp": "/tmp", "var-tmp": "/var/tmp"}
	for i, d := range r.ScratchDirs {
		own["scratch"+strconv.Itoa(i)] = d
	}
	var binds []Mount
	for dir, target := range own {
		source := l.Path("nodes", name, dir)
		if err := machine.MakeDir(source, 0o777|os.ModeSticky); err != nil {
			return nil, err
		}
		binds = append(binds, Mount{Source: source, Target: target})
	}
	if slices.Contains(r.BurnIn, name) {
		source := l.burnInDir(name)
		if err := machine.MakeDir(source, 0o755); err != nil {
			return nil, err
		}
		binds = append(binds, Mount{Source: source, Target: burnin.Dir})
	}
	return append(binds, present(r.Shared)...), nil
}

// Addresses reads the nodes' addresses from the cluster's hosts file, which is
// their one record.
func (l *Layout) Addresses() (map[string]netip.Addr, error) {
	data, err := os.ReadFile(l.hostsFile())
	if errors.Is(err, os.ErrNotExist) {
		return map[string]netip.Addr{}, nil
	}
	if err != nil {
		return nil, err
	}
	addresses := map[string]netip.Addr{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(fields[0], "10.") {
			continue
		}
		a, err := netip.ParseAddr(fields[0])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", l.hostsFile(), err)
		}
		addresses[fields[1]] = a
	}
	return addresses, nil
}

// hostsFile is every machine's /etc/hosts.
func (l *Layout) hostsFile() string { return filepath.Join(l.Dir, "etc", "hosts") }

// Hosts is the text of hostsFile.
func Hosts(head string, addresses map[string]netip.Addr) string {
	var b strings.Builder
	fmt.Fprintf(&b, "127.0.0.1 localhost\n%s %s\n", HeadAddress, head)
	names := map[netip.Addr]string{}
	for n, a := range addresses {
		if n != head {
			names[a] = n
		}
	}
	for _, a := range slices.SortedStableFunc(maps.Keys(names), netip.Addr.Compare) {
		fmt.Fprintf(&b, "%s %s\n", a, names[a])
	}
	return b.String()
}
