// Command ours is what bench/fleet measures of muster: the controller of a head node
// with the fleet on EC2, as `muster controller` puts them together.
//
//	ours resume STRATEGY   says "ready" after its first round, reads the jobs of a resume file in a line of its input,
//	                       and launches their nodes
//	ours round             does rounds on what there is
//
// It prints seconds of wall and of CPU, with its children, and its largest memory in KiB.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "ours:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "resume":
		return resume(ctx, fleet.Strategy(args[1]))
	case len(args) == 1 && args[0] == "round":
		return round(ctx)
	}
	return errors.New("ours resume STRATEGY, or ours round")
}

// head is a controller with its fleet and Slurm, as far as we listen to them.
type head struct {
	*controller.Controller
	*watch
	fleet  *nodes.Fleet
	events *controller.Events
}

// open puts a controller together. What it keeps lies in the working directory.
func open(ctx context.Context, strategy fleet.Strategy, pace controller.Pace, limits nodes.Limits) (*head, error) {
	cloud, err := api.Open(ctx, os.Getenv("AWS_REGION"))
	if err != nil {
		return nil, err
	}
	h := &head{watch: &watch{
		settled: map[string]bool{}, done: make(chan struct{}), looked: make(chan struct{}), rounds: make(chan time.Time, 16),
	}}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	h.fleet, err = nodes.Open(ctx, nodes.Config{
		Cluster: "bench", Zone: "Z0123456789ABC", ZoneName: "bench.pcluster", Journal: "launches", AWS: cloud.Config(), Log: log, Limits: limits,
		Resources: []nodes.Resource{{
			Resource: slurm.Resource{Queue: "q1", Name: "p5"}, Template: "bench-q1-p5", Types: []string{"p5e.48xlarge"}, Subnets: []string{"subnet-00000000000000001"},
			Capacity: "ONDEMAND", Dynamic: 1000,
		}},
	})
	if err != nil {
		return nil, err
	}
	if h.events, err = controller.OpenEvents("events.jsonl"); err != nil {
		return nil, err
	}
	client := slurm.Client{Runner: slurm.Exec{}}
	state, err := filepath.Abs("standing.json")
	if err != nil {
		return nil, err
	}
	h.Controller = controller.New(controller.Config{
		Fleet: watchedFleet{h.fleet, h.watch}, Slurm: watchedSlurm{client, h.watch}, Addresses: watchedSlurm{client, h.watch},
		Jobs: client, Partitions: client, Reservations: client, Strategy: strategy, Pace: pace, State: state, Revision: "1", Cluster: "bench",
		Limits: fleet.Limits{
			Boot: 29 * time.Minute, Retry: 5 * time.Minute, Short: 10 * time.Minute, Impaired: 3 * time.Minute, Orphan: 5 * time.Minute, Failures: 10,
		},
		Events: h.events, Log: log,
	})
	return h, nil
}

func (h *head) close() error { return errors.Join(h.fleet.Close(), h.events.Close()) }

// resume does what Slurm's ResumeProgram asks the controller for. Before that the
// controller does not look again: it would find the first nodes that power up, and
// begin before its time is taken.
func resume(ctx context.Context, strategy fleet.Strategy) error {
	h, err := open(ctx, strategy, controller.Pace{Quiet: time.Hour, Eager: time.Second, Observe: 30 * time.Second}, nodes.Limits{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	<-h.looked
	fmt.Println("ready")
	nodes, pending, err := jobs()
	if err == nil {
		began, used := time.Now(), cpu()
		h.expect(len(nodes))
		h.Resume(nodes, pending)
		select {
		case <-h.done:
			err = report(time.Since(began), cpu()-used)
		case <-time.After(2 * time.Minute):
			err = errors.New("not all nodes were settled in two minutes")
		}
	}
	stop()
	return errors.Join(err, <-ended, h.close())
}

// jobs are those of a line of our input: their nodes, and which job wants which.
func jobs() ([]string, []fleet.PendingJob, error) {
	var list []struct {
		ID    int    `json:"job_id"`
		Nodes string `json:"nodes"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&list); err != nil {
		return nil, nil, err
	}
	var nodes []string
	var pending []fleet.PendingJob
	for _, j := range list {
		own, err := slurm.Expand(j.Nodes)
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, own...)
		pending = append(pending, fleet.PendingJob{Job: j.ID, Nodes: own})
	}
	return nodes, pending, nil
}

// round measures from the beginning of the second round to that of the third. The
// first one has everything in it that is done once. Each asks EC2 for everything.
func round(ctx context.Context) error {
	always := time.Nanosecond
	h, err := open(ctx, fleet.AllOrNothing, controller.Pace{Quiet: time.Millisecond, Eager: time.Millisecond}, nodes.Limits{Health: always})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	<-h.rounds
	began, used := <-h.rounds, cpu()
	wall := (<-h.rounds).Sub(began)
	used = cpu() - used
	stop()
	return errors.Join(<-ended, h.close(), report(wall, used))
}

// report prints figures. The largest memory is that of this program: what the kernel
// says to whoever waits for it counts the one that started it, too.
func report(wall, used time.Duration) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, most, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(most)
	if len(fields) == 0 {
		return errors.New("the kernel does not say what memory this process had")
	}
	_, err = fmt.Printf("%.3f %.3f %s\n", wall.Seconds(), used.Seconds(), fields[0])
	return err
}

// cpu is what this process and its children have used.
func cpu() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			panic(err) // of a process about itself
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// watch sees when everything that was wanted is settled, and when rounds begin.
type watch struct {
	// rounds tells when rounds begin, looked is closed when the instances were seen for
	// the first time, done when everything is settled.
	rounds       chan time.Time
	looked, done chan struct{}
	first        sync.Once

	mu      sync.Mutex // guards what follows
	want    int
	settled map[string]bool
	flying  int
	over    bool
}

// expect says how many nodes have to be settled.
func (w *watch) expect(nodes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want = nodes
}

// note takes in nodes that are settled, and launches that begin or end.
func (w *watch) note(nodes []string, flying int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range nodes {
		w.settled[n] = true
	}
	w.flying += flying
	if !w.over && w.want > 0 && len(w.settled) >= w.want && w.flying == 0 {
		w.over = true
		close(w.done)
	}
}

// watchedFleet is the fleet.
type watchedFleet struct {
	*nodes.Fleet
	watch *watch
}

func (f watchedFleet) Launch(ctx context.Context, orders []provider.Order, started func([]provider.Instance)) map[string]error {
	f.watch.note(nil, 1)
	defer f.watch.note(nil, -1)
	return f.Fleet.Launch(ctx, orders, started)
}

func (f watchedFleet) Observe(ctx context.Context) ([]provider.Instance, error) {
	defer f.watch.first.Do(func() { close(f.watch.looked) })
	return f.Fleet.Observe(ctx)
}

// watchedSlurm is Slurm.
type watchedSlurm struct {
	slurm.Client
	watch *watch
}

func (s watchedSlurm) Nodes(ctx context.Context) ([]slurm.Node, error) {
	select {
	case s.watch.rounds <- time.Now():
	default:
	}
	return s.Client.Nodes(ctx)
}

func (s watchedSlurm) SetAddresses(ctx context.Context, names, addresses []string) error {
	err := s.Client.SetAddresses(ctx, names, addresses)
	if err == nil && !slices.Equal(names, addresses) {
		s.watch.note(names, 0)
	}
	return err
}

func (s watchedSlurm) UpdateNodes(ctx context.Context, names []string, state, reason string) error {
	err := s.Client.UpdateNodes(ctx, names, state, reason)
	if err == nil && state == "DOWN" {
		s.watch.note(names, 0)
	}
	return err
}
