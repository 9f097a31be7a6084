//go:build linux

// Package scan looks at a machine, and in a container: programs and their versions, GPUs, network devices, mounts, limits, clock.
// It judges nothing, needs no root, and says of what it could not see why that is so: a tool that is missing is blind, and a
// thing that is missing is seen to be so.
package scan

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
)

// Options are how a machine is looked at.
type Options struct {
	// Container says that the look is from within a container.
	Container bool
	// Counters says that EFA's devices and counters are all that is wanted.
	Counters bool
	// Diagnosis is the level of DCGM's diagnosis, 1 to 4; 0 is the first, which runs nothing on the GPUs.
	Diagnosis int
	// DiagnosisWait is how long that may take, 0 for DiagnosisLimit.
	DiagnosisWait time.Duration
	// Now is this machine's clock at the begin of the look, Asked the asker's clock when he asked, zero if he did not say.
	Now, Asked time.Time
	// Environment is the job's, as os.Environ has it. What is of it in Facts are variables of NCCL, libfabric and their like.
	Environment []string
	// Root is put before the path of each file and program; empty outside of tests.
	Root string
}

// Machine looks at this machine. What a look lacks is in its facts; an error is that there was no time for it.
func Machine(ctx context.Context, o Options) (verify.Facts, error) {
	e := eye{root: o.Root, path: search(o.Environment), diagnosis: max(1, o.Diagnosis), diagnosisWait: cmp.Or(o.DiagnosisWait, DiagnosisLimit(o.Diagnosis)), conf: variable(o.Environment, "SLURM_CONF")}
	began := time.Now()
	f := verify.Facts{Schema: 1, Container: o.Container, Root: os.Geteuid() == 0, Environment: relevant(o.Environment)}
	f.Host, _ = os.Hostname()
	f.Clock = clock(o)
	if o.Counters {
		f.EFA = e.counted()
		return f, context.Cause(ctx)
	}
	var looks sync.WaitGroup
	looks.Go(func() { f.Machine = e.machine(ctx) })
	looks.Go(func() { f.GPU = e.gpus(ctx) })
	looks.Go(func() { f.EFA = e.efa(ctx) })
	looks.Go(func() { f.Software = e.software(ctx) })
	looks.Go(func() { f.Mounts = e.mounts(ctx) })
	f.Limits = limits()
	looks.Wait()
	f.Seconds = time.Since(began).Seconds()
	return f, context.Cause(ctx)
}

// eye looks at files and programs below a root.
type eye struct {
	root string
	// path is where the job finds its programs; only Python is looked for there, since it is the job's choice.
	path []string
	// conf is SLURM_CONF, without which Slurm's programs may not find their cluster.
	conf string
	// diagnosis is the level of DCGM's, diagnosisWait how long it may take.
	diagnosis     int
	diagnosisWait time.Duration
	// wait is how long a program may take, 0 for programWait.
	wait time.Duration
}

func (e eye) at(name string) string { return filepath.Join(e.root, name) }

// readLimit bounds what is read of a file.
const readLimit = 1 << 20

// read is a file's text.
func (e eye) read(name string) (string, error) {
	f, err := os.Open(e.at(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(f)
}

// line is the only line of a file.
func (e eye) line(name string) verify.Look[string] {
	text, err := e.read(name)
	if err != nil {
		return verify.Unseen[string](err.Error())
	}
	return verify.Saw(short(strings.TrimSpace(text)))
}

// glob are the paths that fit a pattern, without the root.
func (e eye) glob(pattern string) []string {
	all, _ := filepath.Glob(e.at(pattern)) // the patterns are sound
	for i := range all {
		all[i] = "/" + strings.TrimPrefix(strings.TrimPrefix(all[i], e.root), "/")
	}
	return all
}

// wordLimit is how many bytes of a name, a version or a message are kept.
const wordLimit = 300

func short(text string) string {
	if len(text) <= wordLimit {
		return text
	}
	return strings.ToValidUTF8(text[:wordLimit], "") + "…"
}

// prefixes begin the names of variables that change how a training communicates.
var prefixes = [...]string{"NCCL_", "FI_", "OFI_", "RDMAV_", "TORCH_NCCL_", "CUDA_", "PYTORCH_CUDA", "OMPI_MCA_", "UCX_", "LD_PRELOAD=", "LD_LIBRARY_PATH="}

// mostVariables bounds how many are kept.
const mostVariables = 200

// relevant are the variables that change how a training communicates.
func relevant(environment []string) map[string]string {
	all := map[string]string{}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		for _, p := range prefixes {
			if strings.HasPrefix(entry, p) && len(all) < mostVariables {
				all[short(name)] = short(value)
			}
		}
	}
	return all
}

func variable(environment []string, name string) string {
	for _, entry := range environment {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// search are the directories of PATH, those that are absolute.
func search(environment []string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(variable(environment, "PATH"), ":") {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
