package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// madeOfFile is kept with the data of a cluster that was taken down: the path of the file
// that it was made of, by which users know it.
const madeOfFile = "made_of"

// keepMadeOf writes it down, while there is a record that says it.
func keepMadeOf(l *nodes.Layout) error {
	record, err := l.Record()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is kept already
	}
	if err == nil {
		err = whole.Write(l.Path(madeOfFile), []byte(record.File+"\n"), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the name of the cluster's file: %w", err)
	}
	return nil
}

// madeOf is the file of a cluster that was taken down and whose data is kept, "" where
// nobody knows.
func (r Ref) madeOf() string {
	text, err := os.ReadFile(r.Layout().Path(madeOfFile))
	if path := strings.TrimSuffix(string(text), "\n"); err == nil && filepath.IsAbs(path) {
		return path
	}
	return ""
}
