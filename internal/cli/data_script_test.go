package cli_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// TestDataScript runs the commands about data against the S3 server of local clusters, which AWS's own settings lead to.
func TestDataScript(t *testing.T) {
	_, server := storetest.Stand(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/data",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("MUSTER_HOME", e.WorkDir+"/home")
			e.Setenv("TZ", "UTC")
			e.Setenv("AWS_ENDPOINT_URL_S3", server.Endpoint)
			e.Setenv("AWS_REGION", server.Region)
			e.Setenv("AWS_SHARED_CREDENTIALS_FILE", server.CredentialsFile)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}
