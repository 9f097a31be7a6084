package aws

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Record says where a cluster is, so that commands need not ask every region. It can
// be made again: the tags of the stacks are the truth.
type Record struct {
	Name    string `json:"name"`
	Region  string `json:"region"`
	Account string `json:"account"`
	// File is the cluster file's path on this machine.
	File   string `json:"file,omitempty"`
	Bucket string `json:"bucket,omitempty"`
	// Adopted is there for a cluster that ParallelCluster made.
	Adopted *Adopted `json:"parallelcluster,omitempty"`
}

// recordDir is the folder of records and locks. No cluster can have its name: local
// ones have folders beside it.
const recordDir = "aws.d"

// filesOf are what this machine keeps of the way to a cluster.
func filesOf(home, name string) connect.Files {
	return connect.Files{Dir: filepath.Join(home, recordDir), Cluster: name}
}

func recordPath(home, name string) string { return filepath.Join(home, recordDir, name+".json") }

// Records are the clusters on AWS that this machine knows of.
func Records(home string) ([]Record, error) {
	entries, err := os.ReadDir(filepath.Join(home, recordDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		r, err := RecordOf(home, name)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// RecordOf is the record of a cluster. One that is not known is fs.ErrNotExist.
func RecordOf(home, name string) (Record, error) {
	var r Record
	if info, err := os.Stat(recordPath(home, name)); err == nil && !info.Mode().IsRegular() { // reading a pipe would wait for ever
		return r, fmt.Errorf("read %s: it is no ordinary file; remove it, `muster status --on aws` finds the cluster again", recordPath(home, name))
	}
	text, err := os.ReadFile(recordPath(home, name))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w; remove it, `muster status --on aws` finds the cluster again", recordPath(home, name), err)
	}
	return r, nil
}

// write keeps the record. The file appears whole.
func (r Record) write(home string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(recordPath(home, r.Name), append(text, '\n'))
}

// WriteFile makes a file of this machine's notes hold text, whole or not at all, and
// its folder if there is none. Only its user can read it.
func WriteFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	return whole.Write(path, text, 0o600)
}

// forget removes the record of a cluster that is gone.
func forget(home, name string) error {
	if err := os.Remove(recordPath(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return filesOf(home, name).Forget()
}
