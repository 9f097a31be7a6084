package data

import (
	"cmp"
	"os"
)

// roomy is where large temporary files may be: /tmp is memory on many machines.
const roomy = "/var/tmp"

// nameless makes a file in a directory, by default in TMPDIR or where there is room, that goes with the program however it ends.
// Where the file system makes no file without a name, it has one until it is removed here: a program that is killed in
// between leaves an empty file.
func nameless(dir string) (*os.File, error) {
	if dir = cmp.Or(dir, os.Getenv("TMPDIR")); dir != "" {
		return namelessIn(dir)
	}
	if f, err := namelessIn(roomy); err == nil {
		return f, nil
	}
	return namelessIn(os.TempDir())
}

func namelessIn(dir string) (*os.File, error) {
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
