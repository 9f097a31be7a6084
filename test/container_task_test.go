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
	const ask = `dir=${PMIX_SERVER_TMPDIR%/} shown= # before PMIx 5 there are files in it
while read -r _ _ _ _ at _; do [ "$at" != "$dir" ] || shown=1; done </proc/self/mountinfo
[ $shown ] && touch $dir/$PMIX_RANK &&
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

// heedsEnroot: Enroot's variables count where no option says otherwise, and what of
// Enroot's has no effect is said.
func heedsEnroot(t *testing.T, c *cluster) {
	const ask = "id -u; touch /new 2>/dev/null && echo writable; test -e $HOME/given && echo home"
	step := func(options ...string) (string, string) {
		t.Helper()
		line := append([]string{"exec", "--", "env", "HOME=" + c.dir, "ENROOT_ROOTFS_WRITABLE=yes", "ENROOT_REMAP_ROOT=y", "srun", "--container-image=./x.sqsh"}, options...)
		r := c.run(append(line, "sh", "-c", ask+"; true")...)
		return r.stdout, r.stderr
	}
	if got, _ := step(); got != "0\nwritable\n" {
		t.Errorf("got %q", got)
	}
	if got, _ := step("--container-readonly"); got != "0\n" {
		t.Errorf("with an option: %q", got)
	}
	if err := os.MkdirAll(filepath.Join(c.dir, ".config", "enroot", "hooks.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, said := step(); !strings.Contains(said, "/.config/enroot/hooks.d has no effect") {
		t.Errorf("said %q", said)
	}
}
