package boot

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/head"
)

// Health looks whether the machine has the GPUs of its type. What cannot be looked at
// is said to be so.
func (m Machine) Health(ctx context.Context, instanceType string) (string, error) {
	t, ok := catalog.Lookup(instanceType)
	switch {
	case !ok:
		return "blind: nothing is known of " + instanceType, nil
	case t.GPU.Count == 0:
		return instanceType + " has no GPUs to look at", nil
	case m.find("nvidia-smi") == "":
		return fmt.Sprintf("blind: no nvidia-smi, so nobody has looked at the %s", count.Of(t.GPU.Count, "GPU")), nil
	}
	out, err := m.run(ctx, "nvidia-smi", "--list-gpus")
	if err != nil {
		return "", err
	}
	seen := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "GPU ") {
			seen++
		}
	}
	if seen != t.GPU.Count {
		return "", fmt.Errorf("nvidia-smi lists %s, and %s has %d", count.Of(seen, "GPU"), instanceType, t.GPU.Count)
	}
	return count.Of(seen, "GPU"), nil
}

// NodeProlog is what a node runs before a job's first step: where GPU checks are asked
// for, and on GPUs that a job was given, DCGM's diagnosis. A node that fails is
// drained by Slurm.
const NodeProlog = head.BinDir + "/node-prolog"

const diagnosis = `#!/bin/sh
# Written by muster: HealthChecks/Gpu.
set -u
if [ -z "${SLURM_JOB_GPUS:-}" ]; then exit 0; fi
out=$(timeout 600 dcgmi diag -r 2 -i "$SLURM_JOB_GPUS" 2>&1) && exit 0
code=$?
mkdir -p /var/log/muster
printf '%s job %s: dcgmi diag ended with %s\n%s\n' "$(date -u +%FT%TZ)" "${SLURM_JOB_ID:-?}" "$code" "$out" >>/var/log/muster/health.log
exit 1
`

// Prolog writes the node's prolog. asked says that the cluster file wants GPUs to be
// checked.
func (m Machine) Prolog(asked bool) (string, error) {
	text, detail := "#!/bin/sh\n# Written by muster: no health checks are asked for.\nexit 0\n", "not asked for"
	switch {
	case asked && m.find("dcgmi") == "":
		detail = "blind: the file asks for GPU checks, and this image has no dcgmi"
	case asked:
		text, detail = diagnosis, "DCGM before each job"
	}
	_, err := m.Write(NodeProlog, text, 0o755, "")
	return detail, err
}
