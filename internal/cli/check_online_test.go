package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/account"
)

// onlineScripts runs scripts of a folder against a double of AWS.
func onlineScripts(t *testing.T, c *cloud.Cloud, folder string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "online", folder),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("MUSTER_HOME", e.WorkDir+"/home")
			e.Setenv("TZ", "UTC")
			for _, setting := range c.Env() {
				name, value, _ := strings.Cut(setting, "=")
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func TestCheckOnline_in_a_good_account(t *testing.T) {
	onlineScripts(t, cloud.Start(t, cloud.Options{}), "good")
}

func TestCheckOnline_in_a_bad_account(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	c.Account.SetQuota(account.Quota{Code: "L-417A185B", Value: 192})
	c.Account.DropQuota("L-1216C47A")
	c.Account.SetLustre("SCRATCH_2", "PERSISTENT_1")
	c.Account.Deny("ec2:DescribeImages", "ec2:CreateSecurityGroup")
	c.Fail(cloud.Rule{Service: "ec2", Operation: "DescribeKeyPairs", Kind: cloud.Denied, Code: "UnauthorizedOperation"})
	onlineScripts(t, c, "bad")
}
