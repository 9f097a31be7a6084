// Command gen writes docs/ref: what the program says, read from its sources, so
// that the documents cannot say anything else.
//
//	go run ./docs/ref/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes all documents of the module at root.
func write(root string) error {
	text, err := codesPage(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "ref", "codes.md"), []byte(text), 0o644)
}
