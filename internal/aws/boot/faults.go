package boot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/heed"
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
		out, err = m.Command(ctx, "nvidia-smi", "--query-gpu=index,remapped_rows.pending,remapped_rows.failure", "--format=csv,noheader")
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
	return remapFaults(out), ""
}

// smiLost are exit codes of nvidia-smi, as its manual has them: GPUs without their power cables, no driver, a GPU that has fallen
// off the bus. Others are about the question.
var smiLost = []int{8, 9, 15}

// remapFaults reads which GPUs have rows of memory that wait to be replaced, which a reset of the GPU does, or that could not be:
// https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html. GPUs before the A100 have no answer.
func remapFaults(out string) (wrong []string) {
	for line := range strings.Lines(out) {
		words := strings.Split(strings.TrimSpace(line), ", ")
		switch {
		case len(words) != 3:
		case words[2] == "Yes":
			wrong = append(wrong, fmt.Sprintf("GPU %s has a row of memory that could not be replaced", words[0]))
		case words[1] == "Yes":
			wrong = append(wrong, fmt.Sprintf("GPU %s has a row of memory that waits for a reset to be replaced", words[0]))
		}
	}
	return wrong
}
