package slurm

import (
	"fmt"
	"os/exec"
	"strings"
)

// Version asks a slurmd for its version, such as "22.05.8".
func Version(slurmd string) (string, error) {
	out, err := exec.Command(slurmd, "-V").Output()
	if err != nil {
		return "", fmt.Errorf("ask slurmd for its version: %w; `muster doctor` says what is missing", err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return "", fmt.Errorf("ask slurmd for its version: it said %q", out)
	}
	return fields[len(fields)-1], nil
}
