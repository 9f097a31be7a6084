//go:build linux

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// storageBy is what measures storage: IOR and mdtest where all nodes have them and MPI starts them, else fio, else muster itself.
type storageBy struct {
	load.StorageTools
	// ior, mdtest and fio are their paths, empty for one that is not used.
	ior, mdtest, fio string
	// refused say which did not measure though nodes have it, and why, until somebody takes them.
	refused []verify.Result
}

// storageBy finds what nodes have, and where their user may write. An error leaves muster itself, and the mounts as they are.
func (r *run) storageBy(ctx context.Context, mounts []expect.FileSystem) (storageBy, error) {
	args := []string{"sh", "-c", load.FindStorage, "sh"}
	for _, m := range mounts {
		args = append(args, m.Mount)
	}
	var lines []string
	err := r.lines(ctx, stepOptions{args: args, limit: scanLimit}, func(line string) { lines = append(lines, line) })
	with := storageBy{StorageTools: load.ReadStorageTools(lines)}
	if r.Alone != "" { // there is no Slurm to start MPI
		delete(with.Paths, "ior")
		delete(with.Paths, "mdtest")
	}
	if err != nil {
		return with, fmt.Errorf("find programs that measure storage: %w", err)
	}
	for program, to := range map[string]*string{"ior": &with.ior, "mdtest": &with.mdtest, "fio": &with.fio} {
		why := ""
		if *to, why = with.Everywhere(program, r.alloc.nodes); why != "" && len(with.Paths[program]) > 0 {
			r.Tell(fmt.Sprintf("%s does not measure: %s", program, why))
		}
	}
	return with, nil
}

// refuse notes why a program did not measure, and that it is not tried again.
func (w *storageBy) refuse(program *string, name, mount string, why error) {
	w.refused = append(w.refused, verify.Result{Check: "storage-program", On: mount, Verdict: verify.Blind, Found: name + " did not measure", Why: why.Error(), Hint: refusedHint(name)})
	*program = ""
}

func refusedHint(name string) string {
	if name == "fio" {
		return "see on a node whether fio runs: fio --version"
	}
	return "see whether srun --mpi=list has pmix, and whether " + name + " is built with an MPI that srun starts: srun --mpi=pmix --nodes=2 " + name
}

// measureMount measures one mount by what there is.
func (r *run) measureMount(ctx context.Context, m expect.FileSystem, dir string, with *storageBy) (judge.StorageSeen, error) {
	seen := judge.StorageSeen{Mount: m.Mount, Dir: dir, Nodes: r.alloc.nodes, Right: m, NetworkMbps: r.networkMbps()}
	size := r.sizeOf(m.Mount)
	if with.ior != "" || with.fio != "" || with.mdtest != "" {
		err := r.inPass(ctx, dir, size, func(p pass) error { return p.byPrograms(ctx, &seen, with) })
		if err != nil || ctx.Err() != nil || faulty(seen.Tasks) || hasRates(seen) {
			return seen, err
		}
	}
	r.Tell(fmt.Sprintf("writes and reads %s from %s", dir, count.Of(len(r.alloc.nodes), "node")))
	phases := []string{load.PhaseWrite, load.PhaseRead, load.PhaseMeta}
	if slices.ContainsFunc(seen.Sums, func(s judge.StorageSum) bool { return s.Meta != nil }) {
		phases = phases[:2]
	}
	return seen, r.inPass(ctx, dir, size, func(p pass) (err error) {
		seen.Tasks, err = p.phases(ctx, phases...)
		return err
	})
}

// hasRates tells whether there are rates.
func hasRates(s judge.StorageSeen) bool {
	return slices.ContainsFunc(s.Sums, func(s judge.StorageSum) bool { return s.WriteGBps > 0 }) ||
		slices.ContainsFunc(s.Tasks, func(t meter.StorageTask) bool { return t.Write != nil })
}

// byPrograms measures by other people's programs. muster first writes and reads a little: these programs compare no bytes, and what
// keeps a node from writing they say in as many ways as there are versions. Where none measures there are no rates.
func (p pass) byPrograms(ctx context.Context, seen *judge.StorageSeen, with *storageBy) error {
	little := p
	little.size.bytes, little.room = leastOf(p.size), p.size.bytes*int64(len(p.alloc.nodes))
	tasks, err := little.phases(ctx, load.PhaseWrite, load.PhaseRead)
	direct := len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t meter.StorageTask) bool {
		return t.Write != nil && !t.Write.Direct || t.Read != nil && !t.Read.Direct
	})
	for i := range tasks {
		tasks[i].Write, tasks[i].Read = nil, nil
	}
	seen.Tasks = tasks
	if err != nil || faulty(tasks) {
		return err
	}
	p.byMPI(ctx, seen, with, direct)
	if with.fio == "" && !hasRates(*seen) {
		return nil
	}
	if !hasRates(*seen) {
		if err := p.byFio(ctx, seen, with); err != nil || !hasRates(*seen) || faulty(seen.Tasks) {
			return err
		}
	}
	if slices.ContainsFunc(seen.Sums, func(s judge.StorageSum) bool { return s.Meta != nil }) {
		return nil
	}
	tasks, err = p.phases(ctx, load.PhaseMeta)
	seen.Tasks = append(seen.Tasks, tasks...)
	return err
}

// leastOf is what muster writes where another program measures.
func leastOf(size storageSize) int64 { return min(size.bytes, leastBytes) }

// byFio has fio write and read on each node at once.
func (p pass) byFio(ctx context.Context, seen *judge.StorageSeen, with *storageBy) error {
	p.Tell(fmt.Sprintf("fio writes and reads %s from %s", p.dir, count.Of(len(p.alloc.nodes), "node")))
	p.by = load.ByFio
	tasks, err := p.phases(ctx, load.PhaseWrite, load.PhaseRead)
	if i := slices.IndexFunc(tasks, func(t meter.StorageTask) bool { return t.Fault == meter.FaultOther }); i >= 0 && ctx.Err() == nil {
		with.refuse(&with.fio, "fio", seen.Mount, fmt.Errorf("on %s: %s", tasks[i].Node, tasks[i].Error))
		return nil
	}
	seen.Tasks = append(seen.Tasks, tasks...)
	return err
}

// mostTasks is how many tasks of MPI a node has at most: as many as muster has streams.
const mostTasks = storageStreams

// byMPI has IOR and mdtest run on all nodes as one program each.
func (p pass) byMPI(ctx context.Context, seen *judge.StorageSeen, with *storageBy, direct bool) {
	if with.ior == "" && with.mdtest == "" {
		return
	}
	each := min(mostTasks, max(1, with.CPUs/2))
	tasks, place := each*len(p.alloc.nodes), load.Place(p.dir, p.name)
	if with.ior != "" {
		p.Tell(fmt.Sprintf("IOR writes and reads %s from %s", p.dir, count.Of(len(p.alloc.nodes), "node")))
		line := load.IORRun{Program: with.ior, Dir: place, Bytes: p.size.bytes / int64(each), Seconds: int(p.size.span.Seconds()), Direct: direct}.Line()
		text, err := p.overMPI(ctx, stepOptions{args: line, tasks: each})
		sum, wrong := judge.SumOfIOR(meter.ReadIOR([]byte(text)), tasks, len(p.alloc.nodes), direct)
		p.keep(ctx, seen, with, &with.ior, "ior", sum, told(err, wrong))
	}
	if with.mdtest != "" && ctx.Err() == nil {
		p.Tell("mdtest makes, looks at and removes files in " + p.dir)
		text, err := p.overMPI(ctx, mdtestStep(with.mdtest, place, each))
		sum, wrong := judge.SumOfMdtest(meter.ReadMdtest([]byte(text)), tasks)
		p.keep(ctx, seen, with, &with.mdtest, "mdtest", sum, told(err, wrong))
	}
}

// storageFiles is how many files each task of mdtest makes, as many as in guides of AWS's clusters.
const storageFiles = 1000

// keep takes a measurement, or notes why it is none.
func (p pass) keep(ctx context.Context, seen *judge.StorageSeen, with *storageBy, program *string, name string, sum judge.StorageSum, wrong error) {
	switch {
	case ctx.Err() != nil:
	case wrong != nil:
		with.refuse(program, name, seen.Mount, wrong)
	default:
		seen.Sums = append(seen.Sums, sum)
	}
}

// told is why a measurement is none: what srun said, and what is missing in what the program printed. One that is whole counts.
func told(err, wrong error) error {
	if wrong != nil && err != nil {
		return fmt.Errorf("%w; %w", wrong, err)
	}
	return wrong
}

// mdtestStep has each task look at the files of another node.
func mdtestStep(program, place string, each int) stepOptions {
	return stepOptions{args: load.MDTest(program, place, storageFiles), tasks: each, cyclic: true}
}

// overMPI runs a program on all nodes, and is what it printed.
func (p pass) overMPI(ctx context.Context, o stepOptions) (string, error) {
	var text strings.Builder
	o.mpi, o.limit = "pmix", 4*p.size.span+storageStart
	err := p.lines(ctx, o, func(line string) {
		if text.Len() < mostTable {
			text.WriteString(line + "\n")
		}
	})
	return text.String(), err
}
