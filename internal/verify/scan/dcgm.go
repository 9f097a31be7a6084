//go:build linux

package scan

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// DiagnosisLimit is how long a level of DCGM's diagnosis may take: twice what NVIDIA says that it takes, which is seconds, two minutes,
// half an hour, and two hours.
// https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html
func DiagnosisLimit(level int) time.Duration {
	switch {
	case level <= 1:
		return 45 * time.Second
	case level == 2:
		return 4 * time.Minute
	case level == 3:
		return time.Hour
	}
	return 4 * time.Hour
}

// dcgm has DCGM diagnose the GPUs. Its first level looks at software, settings and counters of errors and runs nothing on the GPUs; the
// others put load on them: https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html
func (e eye) dcgm(ctx context.Context) verify.Look[verify.Diagnosis] {
	if e.find("dcgmi") == "" {
		return verify.Unseen[verify.Diagnosis]("this machine has no dcgmi (DCGM)")
	}
	e.wait = e.diagnosisWait
	out, err := e.ask(ctx, "dcgmi", "diag", "--run", strconv.Itoa(e.diagnosis), "--json")
	d := meter.ReadDCGM([]byte(out))
	found := verify.Diagnosis{Version: d.Version, Level: e.diagnosis}
	for _, t := range d.Tests {
		switch {
		case t.Status == meter.DCGMPass:
			found.Passed++
		case t.Status == meter.DCGMFail && setting(t):
			found.Settings = append(found.Settings, short(t.String()))
		case t.Status == meter.DCGMFail:
			found.Failed = append(found.Failed, short(t.String()))
		case t.Status == meter.DCGMWarn:
			found.Settings = append(found.Settings, short(t.String()))
		}
	}
	const most = 20
	found.Failed, found.Settings = found.Failed[:min(most, len(found.Failed))], found.Settings[:min(most, len(found.Settings))]
	switch {
	case len(found.Failed) > 0:
		return verify.Saw(found) // a test that failed has failed even if the report breaks off behind it
	case !d.Ran() && err != nil:
		return verify.Unseen[verify.Diagnosis](err.Error())
	case !d.Whole || !d.Ran():
		return verify.Unseen[verify.Diagnosis](short("DCGM's report is not whole: " + strings.Join(d.Problems, "; ")))
	}
	return verify.Saw(found)
}

// setting says that all that a test has against a GPU is how it is set, such as its persistence mode. Category 8 of DCGM's errors is
// configuration: https://github.com/NVIDIA/DCGM/blob/master/dcgmlib/dcgm_errors.h
func setting(t meter.DCGMTest) bool {
	for _, m := range t.Messages {
		if m.Category != 8 && !strings.Contains(m.Text, "Persistence mode") {
			return false
		}
	}
	return len(t.Messages) > 0
}

// topology is the matrix of ways between GPUs and network devices.
func (e eye) topology(ctx context.Context) verify.Look[verify.Topology] {
	out, err := e.ask(ctx, "nvidia-smi", "topo", "-m")
	t := meter.ReadTopology([]byte(out))
	switch {
	case err != nil:
		return verify.Unseen[verify.Topology](err.Error())
	case !t.Whole:
		return verify.Unseen[verify.Topology](short("nvidia-smi's topology cannot be read: " + strings.Join(t.Problems, "; ")))
	}
	return verify.Saw(verify.Topology{Names: t.Names, Paths: t.Paths})
}
