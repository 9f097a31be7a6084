package cli

import (
	"os"
	"path/filepath"
)

// homeDir is the folder that holds the run directories of all local clusters of this
// user, and what this machine knows of those on AWS: $MUSTER_HOME, or /var/lib/muster for root, or the user's state folder.
func homeDir() (string, error) {
	if h := os.Getenv("MUSTER_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if os.Getuid() == 0 {
		return "/var/lib/muster", nil
	}
	if s := os.Getenv("XDG_STATE_HOME"); s != "" {
		return filepath.Join(s, "muster"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "muster"), nil
}
