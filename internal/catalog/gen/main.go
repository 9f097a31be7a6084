// Command gen writes what the catalogue has built in from its recorded tables:
// testdata/gpu-instances.json and testdata/ec2-traits.tsv become ../listed.go and
// ../traits_listed.go. Run it with go generate in internal/catalog.
//
// With a list that `muster catalog update` wrote it first takes that list's facts
// and prices into the tables.
//
//	muster catalog update --region us-east-1
//	go -C internal/catalog run ./gen LIST
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/catalog"
)

// The tables, and what is made of them.
const (
	instancesFile = "testdata/gpu-instances.json"
	traitsFile    = "testdata/ec2-traits.tsv"
	pricesFile    = "prices.tsv"
	listedFile    = "listed.go"
	shortFile     = "traits_listed.go"
)

func main() {
	if err := run(".", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run writes the tables, in their usual form and with the facts of a newer list if one is
// named, and the Go files.
func run(dir string, args []string) error {
	t, err := readTables(dir)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if err := t.takeFile(args[0]); err != nil {
			return err
		}
	}
	for _, made := range []func() (map[string][]byte, error){t.files, t.sources} {
		files, err := made()
		if err != nil {
			return err
		}
		for name, data := range files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tables) takeFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	n, err := catalog.Read(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return t.take(n)
}

// tables are the recorded ones.
type tables struct {
	list   list
	traits []trait
	prices string
	head   []string // of the traits: where they come from
}

func readTables(dir string) (tables, error) {
	var t tables
	data, err := os.ReadFile(filepath.Join(dir, instancesFile))
	if err != nil {
		return t, err
	}
	if t.list, err = readList(data); err != nil {
		return t, fmt.Errorf("read %s: %w", instancesFile, err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, traitsFile)); err != nil {
		return t, err
	}
	if t.head, t.traits, err = readTraits(string(data)); err != nil {
		return t, fmt.Errorf("read %s: %w", traitsFile, err)
	}
	data, err = os.ReadFile(filepath.Join(dir, pricesFile))
	t.prices = string(data)
	return t, err
}

// files are the tables as they are recorded.
func (t tables) files() (map[string][]byte, error) {
	instances, err := t.list.json()
	return map[string][]byte{instancesFile: instances, traitsFile: writeTraits(t.head, t.traits), pricesFile: []byte(t.prices)}, err
}

// sources are the Go files that are made of the tables.
func (t tables) sources() (map[string][]byte, error) {
	listed, err := t.list.source()
	if err != nil {
		return nil, err
	}
	short, err := shortTraits(t.traits)
	return map[string][]byte{listedFile: listed, shortFile: short}, err
}
