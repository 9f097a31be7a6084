package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

var validName = pattern.New(`^[a-zA-Z][a-zA-Z0-9-]{0,39}$`)

// NameOf is a cluster's name if the user gives none: the cluster file's, or its
// folder's where the file is just called cluster.yaml.
func NameOf(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if passing(abs) {
		return "", fmt.Errorf("%s gives a cluster no name; give one with --cluster NAME", file)
	}
	name := strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	if name == "cluster" || name == "cluster-config" {
		name = filepath.Base(filepath.Dir(abs))
	}
	if err := CheckName(name); err != nil {
		return "", fmt.Errorf("%w; give one with --cluster NAME", err)
	}
	return name, nil
}

// Lasting is the path of a file, made absolute, if it leads to that file later, too: it is
// empty for a pipe, and for what a shell or a process shows of its own.
func Lasting(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil || passing(abs) {
		return ""
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	return abs
}

// passing says that a path is another file for each process.
func passing(abs string) bool {
	return abs == "/dev/stdin" || strings.HasPrefix(abs, "/dev/fd/") || strings.HasPrefix(abs, "/proc/")
}

// Again is what stands for a file in a command that can be typed later.
func Again(path string) string {
	if Lasting(path) == "" {
		return "FILE"
	}
	return path
}

// CheckName refuses what ParallelCluster would refuse as a cluster's name.
func CheckName(name string) error {
	if !validName().MatchString(name) {
		return fmt.Errorf("%q cannot be a cluster's name: it takes letters, digits and hyphens, begins with a letter and has at most 40", name)
	}
	return nil
}
