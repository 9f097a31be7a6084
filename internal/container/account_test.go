package container

import (
	"slices"
	"testing"
)

// TestNameServiceKnowsNoUser: what a name service loads and reads, nobody chooses for
// root.
func TestNameServiceKnowsNoUser(t *testing.T) {
	t.Setenv("LDAPCONF", "/tmp/evil")
	cmd := askNameService("/usr/bin/getent", "passwd", ordinary.UID, ordinary)
	if !slices.Equal(cmd.Env, []string{"PATH=/usr/bin:/bin"}) || cmd.Dir != "/" {
		t.Errorf("it runs in %s with %q", cmd.Dir, cmd.Env)
	}
	if !realRoot() {
		return
	}
	if c := cmd.SysProcAttr.Credential; int(c.Uid) != ordinary.UID || int(c.Gid) != ordinary.GID || len(c.Groups) != 1 {
		t.Errorf("it runs as %+v", c)
	}
	if _, err := findAccount(User{UID: 1999999999, GID: 1999999998}); err != nil {
		t.Errorf("nobody has heard of a user: %v", err)
	}
}

// TestStepsVariables: what Slurm tells a task, no image changes.
func TestStepsVariables(t *testing.T) {
	image := environment{"SLURM_PROCID": "7", "PMIX_RANK": "7", "PMI_SIZE": "7", "A": "image", "LD_LIBRARY_PATH": "/image"}
	set, _ := changes(environment{"SLURM_STEP_ID": "0", "LD_LIBRARY_PATH": "/job"}, image, []string{"LD_LIBRARY_PATH"})
	if !slices.Equal(set, []string{"A=image"}) {
		t.Errorf("in a step: %q", set)
	}
	if set, _ = changes(environment{}, image, nil); len(set) != 5 {
		t.Errorf("elsewhere: %q", set)
	}
}
