package cli_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestKeptDataIsLocal deletes the data that a local cluster left, where there are
// credentials of AWS, and counts what AWS is asked: nothing, until a name is nobody's here.
func TestKeptDataIsLocal(t *testing.T) {
	var asked atomic.Int64
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(aws.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/kept",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "MUSTER_HOME="+e.WorkDir+"/home", "AWS_ACCESS_KEY_ID=AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY=example",
				"AWS_REGION=us-east-1", "AWS_ENDPOINT_URL="+aws.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"asked": func(ts *testscript.TestScript, nobody bool, _ []string) {
				if n := asked.Load(); nobody != (n == 0) {
					ts.Fatalf("AWS was asked %d times", n)
				}
			},
		},
	})
}
