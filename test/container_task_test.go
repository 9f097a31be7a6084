package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pmixInContainer: a task in a container finds what Slurm's PMIx tells it of, and the
// container's PMIx learns the ways that both can go.
func pmixInContainer(t *testing.T, c *cluster) {
	if found, _ := filepath.Glob("/usr/lib/*/pmix2/lib/libpmix.so"); len(found) == 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("this machine lacks libpmix-dev, whose link Slurm loads")
		}
		t.Skip("this machine lacks libpmix-dev, whose link Slurm loads")
	}
	const ask = `set -- $PMIX_SERVER_TMPDIR/*; test -e "$1" && touch $PMIX_SERVER_TMPDIR/$PMIX_RANK &&
test -n "$PMIX_MCA_psec$PMIX_MCA_gds$PMIX_MCA_ptl" && test "$PMIX_MCA_gds" = "$PMIX_GDS_MODULE" && echo $PMIX_RANK`
	for _, option := range []string{"--container-readonly", "--container-writable"} {
		got := c.srun("--nodes=1", "--ntasks=2", "--mpi=pmix", "--label", option, "sh", "-c", ask)
		if !strings.Contains(got, "0: 0\n") || !strings.Contains(got, "1: 1\n") {
			t.Errorf("%s: got %q", option, got)
		}
	}
	if got := c.head("env", "PMIX_MCA_gds=hash", "srun", "--mpi=pmix", "--container-image=./x.sqsh", "sh", "-c", "echo $PMIX_MCA_gds"); got != "hash\n" {
		t.Errorf("the user's own choice: %q", got)
	}
}

// keepsVariables: what the user wants to keep is kept, whatever it is called.
func keepsVariables(t *testing.T, c *cluster) {
	c.layout("oci-env")
	c.must("image", "import", "oci:"+filepath.Join(c.dir, "oci-env"), "--name", "env", "--dir", c.dir)
	line := []string{"env", "LD_LIBRARY_PATH=/job", "BOTH=job", "GODEBUG=nonsense=1", "srun", "--container-image=./env.sqsh",
		"--container-env=LD_LIBRARY_PATH,BOTH,GODEBUG", "sh", "-c", "echo $LD_LIBRARY_PATH $BOTH $GODEBUG"}
	if got := c.head(line...); got != "/job job nonsense=1\n" {
		t.Errorf("got %q", got)
	}
	c.noContainerLeft()
}
