// Command fleet measures how nodes are resumed and looked at: aws-parallelcluster-node
// as it is, and muster's controller, each with a Slurm of its own and on the same
// double of AWS. bench/fleet/run calls it.
//
//	fleet [-n 5] [-zero] [-sides theirs,ours] -python DIR -ours PROGRAM [SCENARIO...]
package main

import (
	"context"
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
	sides := flag.String("sides", "theirs,ours", "who is measured")
	python := flag.String("python", "", "the environment that has aws-parallelcluster-node")
	program := flag.String("ours", "", "the program of bench/fleet/ours")
	flag.Parse()
	makers := map[string]func(string, scenario) (side, error){
		"theirs": func(dir string, sc scenario) (side, error) { return newNodePackage(*python, dir, sc.strategy) },
		"ours":   func(dir string, sc scenario) (side, error) { return newControllers(*program, dir, sc.strategy) },
	}
	model := modelled
	if *zero {
		model = none
	}
	fmt.Println("| scenario | side | wall s | CPU s | MiB | addressed | launched | left | calls |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	table := medianTable{}
	for _, sc := range scenarios {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), sc.name) {
			continue
		}
		var all [][]result
		names := strings.Split(*sides, ",")
		for range *times { // one after the other, so that both see the same machine
			for i, name := range names {
				r, err := once(ctx, sc, makers[name], model)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", sc.name, name, err)
				}
				if len(all) <= i {
					all = append(all, nil)
				}
				all[i] = append(all[i], r)
			}
		}
		table[sc.name] = map[string]medians{}
		for i, name := range names {
			fmt.Println(row(sc, name, all[i]))
			table[sc.name][name] = median(all[i])
		}
	}
	fmt.Println("\n| to be reached | is | limit | |\n| --- | --- | --- | --- |")
	for _, line := range table.targets(model) {
		fmt.Println(line)
	}
	return nil
}

// once does a scenario once, in a folder that is removed afterwards.
func once(ctx context.Context, sc scenario, maker func(string, scenario) (side, error), model latency) (result, error) {
	dir, err := os.MkdirTemp("", "muster-fleet-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	return sc.run(ctx, dir, maker, model)
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
