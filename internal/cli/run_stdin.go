package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// fromStdin tells whether a batch script comes from the standard input, as sbatch takes
// it, too.
func fromStdin(file string) bool { return file == stdin || file == "/dev/stdin" }

// keepStdin writes the standard input to a file of its own, until done is called: it is
// checked before sbatch reads it. Its name is the job's, unless the script has one.
func (a *app) keepStdin() (file string, done func(), err error) {
	data, err := io.ReadAll(io.LimitReader(a.in, scriptLimit+1))
	if err != nil {
		return "", nil, fmt.Errorf("read the standard input: %w", err)
	}
	dir, err := os.MkdirTemp("", "muster-script-")
	if err != nil {
		return "", nil, fmt.Errorf("keep the script: %w", err)
	}
	done = func() { _ = os.RemoveAll(dir) } // a file that stays in /tmp costs little
	file = filepath.Join(dir, stdinName)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		done()
		return "", nil, fmt.Errorf("keep the script: %w", err)
	}
	return file, done, nil
}
