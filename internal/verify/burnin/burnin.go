// Package burnin keeps what the burn-in of a machine found: files that appear whole, for whoever waits for its end, and for those who look at
// an unfit machine after it is gone.
package burnin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/sys/whole"
	"github.com/muster-hpc/muster/internal/verify"
)

// Dir has what came of a node's own burn-in, on the node.
const Dir = "/var/lib/muster/burn-in"

// Files of a burn-in, in the directory for what came of it. The report comes first: where there is a verify.Fitness, nothing more is written.
const (
	fitnessFile = "fitness.json"
	reportFile  = "report.json"
)

// KeepReport writes a burn-in's report, and KeepFitness what it comes to, each whole.
func KeepReport(dir string, r verify.Report) error { return keep(dir, reportFile, r) }

// KeepFitness writes what a burn-in comes to.
func KeepFitness(dir string, f verify.Fitness) error { return keep(dir, fitnessFile, f) }

func keep(dir, name string, what any) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return whole.JSON(filepath.Join(dir, name), what)
}

// ReadFitness is what a burn-in came to. Before it has ended, it is fs.ErrNotExist.
func ReadFitness(dir string) (f verify.Fitness, err error) {
	text, err := whole.Read(filepath.Join(dir, fitnessFile))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	return f, err
}

// mostReport bounds a report that outlives its machine, in bytes.
const mostReport = 512 << 10

// ReadReport is a burn-in's report, in JSON without what only helps to read it. One that is too long to be sent and kept is an error.
func ReadReport(dir string) (json.RawMessage, error) {
	text, err := whole.Read(filepath.Join(dir, reportFile))
	if err != nil {
		return nil, err
	}
	var short bytes.Buffer
	if err := json.Compact(&short, text); err != nil {
		return nil, fmt.Errorf("%s: %w", reportFile, err)
	}
	if short.Len() > mostReport {
		return nil, fmt.Errorf("%s has %d bytes, and %d are kept at most", reportFile, short.Len(), mostReport)
	}
	return short.Bytes(), nil
}
