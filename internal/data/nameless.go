package data

import (
	"os"
)

// nameless makes a file in a directory, by default that for temporary files, that goes with the program however it ends.
// Where the file system makes no file without a name, it has one until it is removed here: a program that is killed in
// between leaves an empty file.
func nameless(dir string) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if f, err := unnamed(dir); err == nil {
		return f, nil
	}
	f, err := os.CreateTemp(dir, ".muster-*.tmp")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
