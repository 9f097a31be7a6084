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
	"github.com/muster-hpc/muster/internal/say/malformed"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Record says where a cluster is, so that commands need not ask every region. It can
// be made again: the tags of the stacks are the truth.
type Record struct {
	Name    string `json:"name"`
	Region  string `json:"region"`
	Account string `json:"account"`
	// File is the cluster file's path on this machine, if it has one that lasts.
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
	return connect.Files{Dir: filepath.Join(home, recordDir), Cluster: name, Sockets: connect.Sockets(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())}
}

func recordPath(home, name string) string { return filepath.Join(home, recordDir, name+".json") }

// known is a cluster that this machine has a record of, and why that cannot be read, if so.
type known struct {
	Record
	unread error
}

// allKnown are the clusters on AWS that this machine has records of.
func allKnown(home string) ([]known, error) {
	entries, err := os.ReadDir(filepath.Join(home, recordDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []known
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		r, err := RecordOf(home, name)
		if err != nil {
			r = Record{Name: name}
		}
		all = append(all, known{r, err})
	}
	return all, nil
}

// RecordOf is the record of a cluster. One that is not known is fs.ErrNotExist.
func RecordOf(home, name string) (Record, error) {
	var r Record
	path := recordPath(home, name)
	text, err := whole.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err == nil {
		if err = json.Unmarshal(text, &r); err != nil {
			err = fmt.Errorf("read %s: %w", path, malformed.JSON(err))
		}
	}
	if err != nil {
		return r, fmt.Errorf("%w; remove it, `muster status --on aws` finds the cluster again", err)
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
