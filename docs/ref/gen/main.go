// Command gen writes docs/ref: what the program says, read from its sources, so
// that the documents cannot say anything else.
//
//	go run ./docs/ref/gen
//	go run ./docs/ref/gen DIR  and notes what the tests left in MUSTER_PROOF=DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		if err := updateRecord(".", args[0]); err != nil {
			return err
		}
	}
	return write(".")
}

// write writes all documents of the module at root.
func write(root string) error {
	pages, err := documents(root)
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(root, "docs", "ref", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// documents are the pages by their names.
func documents(root string) (map[string]string, error) {
	codes, err := codesPage(root)
	if err != nil {
		return nil, err
	}
	templates, err := templatesPage(root)
	if err != nil {
		return nil, err
	}
	configure, err := configurePage(root)
	if err != nil {
		return nil, err
	}
	proof, err := proofPage(root)
	if err != nil {
		return nil, err
	}
	failures, err := failuresPage(root)
	if err != nil {
		return nil, err
	}
	facts, err := factsPage(root)
	if err != nil {
		return nil, err
	}
	return map[string]string{"aws-facts.md": facts, "failures.md": failures, "../proof.md": proof, "templates.md": templates, "configure.md": configure, "codes.md": codes, "cluster-file.md": clusterPage(), "muster-yaml.md": workloadPage(), "job-file.md": jobPage(), "messages.md": messagesPage()}, nil
}
