//go:build linux

package scan

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
	"github.com/muster-hpc/muster/internal/verify"
)

func (e eye) software(ctx context.Context) verify.SoftwareFacts {
	s := verify.SoftwareFacts{CUDA: e.toolkit(ctx), NCCL: e.nccl(), ShowsGPUs: e.shows()}
	var looks sync.WaitGroup
	looks.Go(func() { s.Docker = e.version(ctx, "docker", "--version") })
	looks.Go(func() { s.Enroot = e.version(ctx, "enroot", "version") })
	looks.Go(func() { s.Slurm = e.version(ctx, "srun", "--version") })
	looks.Go(func() { s.Pyxis = e.pyxis(ctx) })
	looks.Go(func() { e.python(ctx, &s) })
	looks.Wait()
	return s
}

// numbers finds a version in what programs print.
var numbers = pattern.New(`\d+\.\d+(?:\.\d+)*[-+.\w]*`)

// version is the first version that a program prints, empty if there is no such program.
func (e eye) version(ctx context.Context, name string, args ...string) verify.Look[string] {
	if e.find(name) == "" {
		return verify.Saw("")
	}
	out, err := e.ask(ctx, name, args...)
	if found := numbers().FindString(out); err == nil && found != "" {
		return verify.Saw(short(found))
	}
	if err != nil {
		return verify.Unseen[string](err.Error())
	}
	return verify.Unseen[string](name + " does not tell its version")
}

// pyxis tells whether srun has the options for containers.
func (e eye) pyxis(ctx context.Context) verify.Look[bool] {
	if e.find("srun") == "" {
		return verify.Saw(false)
	}
	out, err := e.ask(ctx, "srun", "--help")
	if err != nil {
		return verify.Unseen[bool](err.Error())
	}
	return verify.Saw(strings.Contains(out, "--container-image"))
}

// toolkit is the version of CUDA's toolkit: its file, or its compiler's word.
func (e eye) toolkit(ctx context.Context) verify.Look[string] {
	if text, err := e.read("/usr/local/cuda/version.json"); err == nil {
		var all map[string]struct{ Version string }
		if json.Unmarshal([]byte(text), &all) == nil && all["cuda"].Version != "" {
			return verify.Saw(short(all["cuda"].Version))
		}
	}
	if text, err := e.read("/usr/local/cuda/version.txt"); err == nil {
		return verify.Saw(numbers().FindString(text))
	}
	if e.find("nvcc") == "" {
		return verify.Saw("")
	}
	out, err := e.ask(ctx, "nvcc", "--version")
	_, release, _ := strings.Cut(out, "release ")
	if found := numbers().FindString(release); err == nil && found != "" {
		return verify.Saw(found)
	}
	return verify.Unseen[string]("nvcc does not tell its version")
}

// libraries are where NCCL is, outside of Python.
var libraries = [...]string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/local/lib", "/opt/nccl/build/lib",
}

// nccl is the version of the first libnccl.so, by the name of its file: libnccl.so.2 is a link to libnccl.so.2.18.5.
func (e eye) nccl() verify.Look[string] {
	for _, dir := range libraries {
		if files := e.glob(dir + "/libnccl.so*"); len(files) > 0 {
			file := files[0]
			if _, version, ok := strings.Cut(e.base(file), "libnccl.so."); ok && strings.Count(version, ".") >= 2 {
				return verify.Saw(short(version))
			}
			if version, err := e.builtIn(file, "NCCL version "); err == nil && version != "" {
				return verify.Saw(short(version))
			}
			return verify.Unseen[string](file + " does not tell its version")
		}
	}
	return verify.Saw("")
}

// shows is what has a machine's GPUs shown in containers.
func (e eye) shows() verify.Look[string] {
	switch {
	case len(e.glob("/etc/cdi/*nvidia*"))+len(e.glob("/var/run/cdi/*nvidia*")) > 0:
		return verify.Saw("CDI")
	case e.find("nvidia-container-cli") != "":
		return verify.Saw("nvidia-container-cli")
	}
	return verify.Saw("")
}

//go:embed look.py
var lookScript string

// pythons are where images keep a Python of their own, before the system's.
var pythons = [...]string{"/opt/venv/bin", "/opt/conda/bin", "/opt/pytorch/bin", "/usr/local/bin", "/usr/bin", "/bin"}

// python asks the Python that a job would find what it has, without importing it: that takes seconds.
func (e eye) python(ctx context.Context, s *verify.SoftwareFacts) {
	program := e.among(append(slices.Clone(e.path), pythons[:]...), "python3")
	if program == "" {
		s.Python, s.PyTorch, s.PyTorchCUDA, s.PyTorchNCCL, s.Megatron = verify.Saw(""), verify.Saw(""), verify.Saw(""), verify.Saw(""), verify.Saw(false)
		return
	}
	out, err := e.run(ctx, program, "-I", "-c", lookScript)
	var said struct {
		Python, Torch, CUDA, NCCL string
		Megatron                  bool
		Odd                       string
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &said)
	}
	if err != nil {
		blind := verify.Unseen[string]("ask Python: " + short(err.Error()))
		s.Python, s.PyTorch, s.PyTorchCUDA, s.PyTorchNCCL, s.Megatron = blind, blind, blind, blind, verify.Unseen[bool](blind.Blind)
		return
	}
	s.Python, s.PyTorch, s.Megatron = verify.Saw(short(said.Python)), verify.Saw(short(said.Torch)), verify.Saw(said.Megatron)
	s.PyTorchCUDA, s.PyTorchNCCL = verify.Saw(short(said.CUDA)), verify.Saw(short(said.NCCL))
	if said.Torch != "" && said.NCCL == "" {
		s.PyTorchNCCL = verify.Unseen[string](cmp.Or(short(said.Odd), "PyTorch brings no NCCL of its own that could be asked"))
	}
}
