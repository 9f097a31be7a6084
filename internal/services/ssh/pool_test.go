package ssh_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/services/ssh"
)

// TestPoolKeys: every machine of a pool makes the same keys, those of other pools and
// clusters differ, and OpenSSH reads them.
func TestPoolKeys(t *testing.T) {
	have(t, "ssh-keygen")
	keys := func(secret, pool string) []ssh.KeyFile {
		t.Helper()
		all, err := ssh.PoolKeys([]byte(secret), pool)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	one := keys("the key of the cluster", "train/login")
	if diff := cmp.Diff(one, keys("the key of the cluster", "train/login")); diff != "" {
		t.Errorf("another machine of the pool (-want +got):\n%s", diff)
	}
	for _, other := range [][]ssh.KeyFile{keys("another key", "train/login"), keys("the key of the cluster", "train/big")} {
		for i := range one {
			if one[i].Name != other[i].Name || one[i].Public == other[i].Public {
				t.Errorf("%s of another pool is the same", one[i].Name)
			}
		}
	}
	for _, k := range one {
		file := filepath.Join(t.TempDir(), k.Name)
		if err := os.WriteFile(file, []byte(k.Private), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(output(t, nil, "ssh-keygen", "-y", "-f", file)); got != k.Public {
			t.Errorf("%s: got %s, want %s", k.Name, got, k.Public)
		}
	}
}
