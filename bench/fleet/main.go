// Command fleet measures how nodes are resumed and looked at: aws-parallelcluster-node
// as it is, and muster's controller, each with a Slurm of its own and on the same
// double of AWS. bench/fleet/run calls it.
//
//	fleet [-n 5] [-zero] [-small] [-sides theirs,ours] -python DIR -ours PROGRAM [SCENARIO...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if len(os.Args) > 2 && os.Args[1] == "measure" {
		do = func(ctx context.Context) error { return measure(ctx, os.Args[2:]) }
	}
	if err := do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	times := flag.Int("n", 5, "how often each is done")
	zero := flag.Bool("zero", false, "AWS answers at once")
	small := flag.Bool("small", false, "few nodes and no latency, to see that everything can be measured")
	sides := flag.String("sides", "theirs,ours", "who is measured")
	python := flag.String("python", "", "the environment that has aws-parallelcluster-node")
	program := flag.String("ours", "", "the program of bench/fleet/ours")
	flag.Parse()
	makers := map[string]maker{
		"theirs": func(dir string, sc scenario) (side, error) { return newNodePackage(*python, dir, sc.strategy) },
		"ours":   func(dir string, sc scenario) (side, error) { return newControllers(*program, dir, sc.strategy) },
	}
	model, count := modelled, nodesInAll
	if *zero || *small {
		model = none
	}
	if *small {
		count = nodesInFew
	}
	wanted, err := chosen(scenarios(count), flag.Args())
	if err != nil {
		return err
	}
	if *times < 1 {
		return errors.New("-n must be at least 1")
	}
	fmt.Println("| scenario | side | wall s | CPU s | MiB | addressed | launched | left | calls |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	table := medianTable{}
	for _, sc := range wanted {
		names := strings.Split(*sides, ",")
		all, err := inTurns(ctx, sc, names, makers, model, *times)
		if err != nil {
			return err
		}
		table[sc.name] = map[string]medians{}
		for _, name := range names {
			fmt.Println(row(sc, name, all[name]))
			table[sc.name][name] = median(all[name])
		}
	}
	if *small {
		return nil
	}
	fmt.Println("\n| to be reached | is | limit | |\n| --- | --- | --- | --- |")
	for _, line := range table.targets(wanted, model) {
		fmt.Println(line)
	}
	return nil
}

// maker makes a side that keeps its files in a folder.
type maker func(dir string, sc scenario) (side, error)

// inTurns does a scenario some times with each side. The sides take turns, so that
// both see the same machine.
func inTurns(ctx context.Context, sc scenario, sides []string, makers map[string]maker, model latency, times int) (map[string][]result, error) {
	all := map[string][]result{}
	for range times {
		for _, name := range sides {
			make, ok := makers[name]
			if !ok {
				return nil, fmt.Errorf("there is no side %q", name)
			}
			r, err := once(ctx, sc, make, model)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", sc.name, name, err)
			}
			all[name] = append(all[name], r)
		}
	}
	return all, nil
}

// once does a scenario once, in a folder that is removed afterwards.
func once(ctx context.Context, sc scenario, make maker, model latency) (result, error) {
	dir, err := os.MkdirTemp("", "muster-fleet-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	r, err := sc.run(ctx, dir, make, model)
	return r, errors.Join(err, sc.proof(r))
}

// row is the median of several runs, with the least and the most.
func row(sc scenario, side string, all []result) string {
	last := all[len(all)-1]
	var calls []string
	for name, n := range last.calls {
		calls = append(calls, fmt.Sprintf("%d %s", n, name))
	}
	sort.Strings(calls)
	return fmt.Sprintf("| %s | %s | %s | %s | %.0f | %d | %d | %d | %s |", sc.title, side,
		spread(all, func(r result) time.Duration { return r.wall }), spread(all, func(r result) time.Duration { return r.cpu }),
		float64(last.rssKiB)/1024, last.addressed, last.launched, last.left, strings.Join(calls, ", "))
}

func spread(all []result, of func(result) time.Duration) string {
	var values []time.Duration
	for _, r := range all {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2f (%.2f-%.2f)", values[len(values)/2].Seconds(), values[0].Seconds(), values[len(values)-1].Seconds())
}
