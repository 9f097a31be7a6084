package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// TestScriptAWS runs the real command line against the double of AWS. In place of a
// head node something says that it runs what it was told.
func TestScriptAWS(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Speed: 600})
	c.Handle("s3", bucketPolicies{})
	standInForHeads(t, c)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "aws"),
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

// bucketPolicies takes policies of buckets and forgets them: moto takes a Deny under
// a condition for one without.
type bucketPolicies struct{}

func (bucketPolicies) Answer(_ context.Context, c *wire.Call) (*wire.Answer, bool) {
	if !c.Request.URL.Query().Has("policy") {
		return nil, false
	}
	return &wire.Answer{Status: http.StatusNoContent}, true
}

// standInForHeads says of each cluster that has a head node that it runs what its
// bucket says, until the test ends.
func standInForHeads(t *testing.T, c *cloud.Cloud) {
	for _, setting := range c.Env() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	acc, err := api.Open(t.Context(), c.Region())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			standInForHead(ctx, c, acc, "train")
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

func standInForHead(ctx context.Context, c *cloud.Cloud, acc *api.Account, name string) {
	all, err := acc.Instances(ctx, name)
	if err != nil || len(all) == 0 || all[0].State != "running" {
		return
	}
	left, err := acc.Left(ctx, name)
	if err != nil {
		return
	}
	for _, l := range left {
		if l.Kind != "bucket" {
			continue
		}
		b, err := store.Open(ctx, store.Config{Endpoint: c.URL, Region: c.Region(), Credentials: acc.Config().Credentials, Bucket: l.ID})
		if err == nil {
			say(ctx, b, name, all[0].ID)
		}
	}
}

func say(ctx context.Context, b store.Store, name, id string) {
	var s manifest.Site
	var fleet manifest.Fleet
	if object(ctx, b, manifest.SiteKey(name), &s) != nil {
		return
	}
	status := manifest.HeadStatus{
		At: time.Now(), InstanceID: id, Revision: s.Revision, Phase: manifest.Ready, Version: s.Version,
		Cluster: &manifest.ClusterStatus{Fleet: "running", Nodes: map[string]int{"idle": 1}, Jobs: map[string]int{"running": 2}},
	}
	if object(ctx, b, manifest.FleetKey(name), &fleet) == nil {
		status.Cluster.Fleet = fleet.Want
	}
	if text, err := json.Marshal(status); err == nil {
		_, _ = b.Put(ctx, store.Upload{Key: manifest.HeadKey(name), Body: strings.NewReader(string(text)), SizeBytes: int64(len(text))}) // next time
	}
}

func object(ctx context.Context, b store.Store, key string, into any) error {
	body, _, err := b.Get(ctx, key)
	if err != nil {
		return err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
