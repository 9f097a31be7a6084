package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// diagnosis has DCGM look at the GPUs that a job was given. It fails for a failed test alone: a muster that is not there, or
// that cannot look, drains no node.
const diagnosis = `# HealthChecks/Gpu of the cluster file.
if [ -z "${SLURM_JOB_GPUS:-}" ]; then exit 0; fi
` + services.Muster + ` agent diagnose "$SLURM_JOB_GPUS"
test $? -ne 1 || exit 1
`

// Prolog writes what the node runs before a job: a look at itself with the options of `muster agent health`, and DCGM's
// diagnosis if asked, which says that the cluster file wants GPUs to be checked.
func (m Machine) Prolog(asked bool, options []string) (string, error) {
	more, detail := "", "what the node lacks"
	switch {
	case asked && m.find("dcgmi") == "":
		detail = "blind: the file asks for GPU checks, and this image has no dcgmi"
	case asked:
		more, detail = diagnosis, "what the node lacks, and DCGM"
	}
	_, err := m.Write(services.NodeProlog, services.PrologScript(more, options...), 0o755, "")
	return detail, err
}

// Verdict is what DCGM found. The zero value is that all is well.
type Verdict struct {
	// Failed are the tests that failed, with what DCGM says of them.
	Failed []string
	// Blind is why the answer is not known, empty where it is.
	Blind string
}

// diagnosisWait bounds DCGM's diagnosis: Slurm waits for it.
const diagnosisWait = 10 * time.Minute

// Diagnose has DCGM look at a job's GPUs. Their engine is started where it does not
// run. Only a test that failed counts against a node, and no DCGM that crashes on sound
// GPUs: https://github.com/NVIDIA/DCGM/issues/134
func (m Machine) Diagnose(ctx context.Context, gpus string) Verdict {
	ctx, cancel := context.WithTimeoutCause(ctx, diagnosisWait, fmt.Errorf("no result within %s", diagnosisWait))
	defer cancel()
	if m.Systemd() {
		if err := m.start(ctx, dcgm); err != nil {
			return Verdict{Blind: err.Error()}
		}
	}
	args := []string{"dcgmi", "diag", "--run", "2", "--json", "-i", gpus}
	if names, err := m.Command(ctx, "nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", gpus); err == nil && strings.Contains(names, "NVIDIA L4") {
		args = append(args, "-p", narrowPCI)
	}
	out, err := m.Command(ctx, args...)
	v := verdict(out)
	if v.Blind != "" && err != nil {
		v.Blind = errors.Join(err, context.Cause(ctx)).Error()
	}
	return v
}

// narrowPCI tells DCGM that an L4 has eight lanes: it expects sixteen.
const narrowPCI = "pcie.h2d_d2h_single_pinned.min_pci_width=8;pcie.h2d_d2h_single_unpinned.min_pci_width=8"

// verdict reads DCGM's report, before which there may be other lines. A test that failed has failed even if the report breaks off behind it.
func verdict(out string) Verdict {
	d := meter.ReadDCGM([]byte(out))
	var v Verdict
	for _, t := range d.Failed() {
		v.Failed = append(v.Failed, t.String())
	}
	switch {
	case d.Error != "":
		v.Blind = d.Error
	case !d.Ran():
		v.Blind = "DCGM ran no test: " + strings.Join(tail.Lines(out, 3), " | ")
	case !d.Whole:
		v.Blind = "DCGM's report is not whole: " + strings.Join(d.Problems, "; ")
	}
	return v
}

// healthLog has what DCGM found before jobs.
const healthLog = "/var/log/muster/health.log"

// NoteHealth writes a verdict that is not a pass into the health log.
func (m Machine) NoteHealth(v Verdict, job string, now time.Time) error {
	text := "failed: " + strings.Join(v.Failed, "; ")
	switch {
	case len(v.Failed) > 0:
	case v.Blind != "":
		text = "blind: " + v.Blind
	default:
		return nil
	}
	path := m.path(healthLog)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s job %s: %s\n", now.UTC().Format(time.RFC3339), job, text)
	return errors.Join(err, f.Close())
}
