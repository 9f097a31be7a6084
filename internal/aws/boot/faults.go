package boot

import (
	"context"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/sys/heed"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// faultsWait bounds what the driver takes to tell of its GPUs: a job waits for it. Without persistence mode it starts each of them
// for every question, which takes seconds.
const faultsWait = 30 * time.Second

// Faults are what NVIDIA's driver says is wrong with the machine's GPUs, for which no program has to use them. blind is why it
// could not be asked, empty where it was.
func (m Machine) Faults(ctx context.Context) (wrong []string, blind string) {
	if m.find("nvidia-smi") == "" {
		return nil, "no nvidia-smi to ask the GPUs with"
	}
	ctx, cancel := context.WithTimeout(ctx, faultsWait)
	defer cancel()
	var out string
	// One that hangs in the driver cannot be killed.
	err := heed.Call(ctx, func() (err error) {
		out, err = m.Command(ctx, "nvidia-smi", meter.RemapQuery, "--format=csv,noheader")
		return err
	})
	switch {
	case ctx.Err() != nil:
		return []string{"nvidia-smi does not answer"}, ""
	case err != nil && slices.ContainsFunc(smiLost, func(code int) bool { return exitCode(err, code) }):
		return []string{"GPUs are lost: " + err.Error()}, ""
	case err != nil:
		return nil, err.Error()
	}
	return remapFaults(meter.ReadRemap([]byte(out)))
}

// smiLost are exit codes of nvidia-smi, by RETURN VALUE of its manual (https://docs.nvidia.com/deploy/nvidia-smi/index.html): GPUs without their power cables, no driver, a GPU that has fallen
// off the bus. Others are about the question.
var smiLost = []int{8, 9, 15}

// remapFaults are GPUs that have rows of memory which wait to be replaced, which a reset of the GPU does, or that could not be:
// https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html. GPUs before the A100 have no answer. blind is what cannot be read.
func remapFaults(said meter.GPUQuery) (wrong []string, blind string) {
	for _, gpu := range said.GPUs {
		switch name := gpu.Text("gpu_uuid"); {
		case meter.Remapped(gpu.Text("remapped_rows.failure")):
			wrong = append(wrong, name+" has a row of memory that could not be replaced")
		case meter.Remapped(gpu.Text("remapped_rows.pending")):
			wrong = append(wrong, name+" has a row of memory that waits for a reset to be replaced")
		}
	}
	if len(said.Problems) > 0 {
		blind = said.Problems[0]
	}
	return wrong, blind
}
