package controller_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/controller/client"
)

// TestClient asks a controller for everything that there is.
func TestClient(t *testing.T) {
	a := serve(t, os.Getuid())
	c := client.In(filepath.Dir(a.events))
	nodes := client.Request{Nodes: "q-dy-r-1", Jobs: []client.RequestJob{{ID: 7, Nodes: "q-dy-r-1"}}}
	for _, row := range []struct {
		name string
		ask  func(context.Context) error
		want string
	}{
		{"resume", func(ctx context.Context) error { return c.Resume(ctx, nodes) }, ""},
		{"suspend", func(ctx context.Context) error { return c.Suspend(ctx, nodes) }, ""},
		{"no_host_list", func(ctx context.Context) error { return c.Await(ctx, "q-[") }, `host list "q-[": a bracket is not closed`},
		{"start_fleet", c.StartFleet, ""},
		{"stop_fleet", func(ctx context.Context) error { return c.StopFleet(ctx, client.StopRequest{Now: true}) }, ""},
		{"share", func(ctx context.Context) error { return c.Share(ctx, "/data") }, ""},
		{"share_of_the_system", func(ctx context.Context) error { return c.Share(ctx, "/usr") }, "/usr is the system's own and is not shared"},
		{"refresh", c.Refresh, ""},
		{"exports_of_none", func(ctx context.Context) error { _, err := c.Exports(ctx); return err }, ""},
		{"flush_of_none", c.Flush, ""},
		{"verify_of_none", func(ctx context.Context) error { _, err := c.Verify(ctx); return err }, "404 page not found"},
		{"connect_to_none", func(context.Context) error {
			_, _, err := client.Connect(t.Context(), filepath.Dir(a.events), "door")
			return err
		}, "there is no such service\n"},
		{"restart", c.Restart, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			said := ""
			if err := row.ask(t.Context()); err != nil {
				said = err.Error()
			}
			if said != row.want {
				t.Errorf("got %q, want %q", said, row.want)
			}
		})
	}
	status, err := client.In(filepath.Dir(serve(t, os.Getuid()).events)).Status(t.Context())
	if err != nil || status.Fleet != "running" {
		t.Errorf("got %+v and %v", status, err)
	}
	if err := client.In(t.TempDir()).StartFleet(t.Context()); err == nil {
		t.Error("somebody answers where nobody is")
	}
}
