package spec

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]{0,39}$`) })

// NameOf is a cluster's name if the user gives none: the cluster file's, or its
// folder's where the file is just called cluster.yaml.
func NameOf(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	if name == "cluster" || name == "cluster-config" {
		name = filepath.Base(filepath.Dir(abs))
	}
	if err := CheckName(name); err != nil {
		return "", fmt.Errorf("%w; give one with --cluster", err)
	}
	return name, nil
}

// CheckName refuses what ParallelCluster would refuse as a cluster's name.
func CheckName(name string) error {
	if !validName().MatchString(name) {
		return fmt.Errorf("%q cannot be a cluster's name: it takes letters, digits and hyphens, begins with a letter and has at most 40", name)
	}
	return nil
}
