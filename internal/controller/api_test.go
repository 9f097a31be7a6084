package controller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/provider/providertest"
)

// api is a controller that answers on a socket.
type api struct {
	t      *testing.T
	client *http.Client
	place  *providertest.Fake
	slurm  *slurmctld
	events string
	served chan error
}

func serve(t *testing.T, users ...int) *api {
	dir := t.TempDir()
	a := &api{t: t, place: providertest.New("q-dy-r-1"), events: filepath.Join(dir, "events.jsonl"), served: make(chan error, 1)}
	a.slurm = newSlurm(a.place, "q-dy-r-1")
	events, err := controller.OpenEvents(a.events)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, client.Socket)
	socket, err := controller.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	c := controller.New(controller.Config{
		Fleet: a.place, Slurm: a.slurm, Jobs: a.slurm, Partitions: a.slurm, Limits: limits, Events: events, Log: slog.New(slog.DiscardHandler),
		Share: func(dir string) error {
			if dir == "/usr" {
				return errors.New("/usr is the system's own and is not shared")
			}
			return nil
		},
		Refresh: func() error { return nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { a.served <- c.Serve(ctx, socket, users) }()
	a.client = &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	t.Cleanup(func() {
		cancel()
		if err := <-a.served; !errors.Is(err, controller.ErrStopped) {
			t.Errorf("serving ended with %v", err)
		}
		events.Close()
	})
	return a
}

func (a *api) post(path, body string) (status int, text string) {
	a.t.Helper()
	resp, err := a.client.Post("http://controller"+path, "application/json", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(data))
}

func TestServe(t *testing.T) {
	a := serve(t, os.Getuid())
	huge, err := json.Marshal(client.Request{Nodes: strings.Repeat("n", 17<<20)})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, path, body string
		status           int
		text             string
	}{
		{"resume", "/v1/resume", `{"nodes":"q-dy-r-[1-3]"}`, http.StatusAccepted, ""},
		{"suspend", "/v1/suspend", `{"nodes":"q-dy-r-1"}`, http.StatusAccepted, ""},
		{"share", "/v1/share", `{"dir":"/data"}`, http.StatusNoContent, ""},
		{"share_of_the_system", "/v1/share", `{"dir":"/usr"}`, http.StatusConflict, "/usr is the system's own and is not shared"},
		{"refresh", "/v1/refresh", ``, http.StatusNoContent, ""},
		{"no_json", "/v1/resume", `nodes`, http.StatusBadRequest, "invalid character 'o' in literal null (expecting 'u')"},
		{"no_body", "/v1/resume", ``, http.StatusBadRequest, "EOF"},
		{"wrong_type", "/v1/await", `{"nodes":7}`, http.StatusBadRequest, "json: cannot unmarshal number into Go struct field Request.nodes of type string"},
		{"no_host_list", "/v1/resume", `{"nodes":"q-dy-r-["}`, http.StatusBadRequest, ""},
		{"too_many_hosts", "/v1/resume", `{"nodes":"n[1-99999999]"}`, http.StatusBadRequest, ""},
		{"huge", "/v1/resume", string(huge), http.StatusBadRequest, "http: request body too large"},
		{"huge_share", "/v1/share", string(huge), http.StatusBadRequest, ""},
		{"unknown", "/v1/explode", `{}`, http.StatusNotFound, "404 page not found"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a.t = t
			status, text := a.post(row.path, row.body)
			if status != row.status || row.text != "" && text != row.text {
				t.Errorf("got %d %q, want %d %q", status, text, row.status, row.text)
			}
		})
	}
	t.Run("get", func(t *testing.T) {
		resp, err := a.client.Get("http://controller/v1/resume")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("got %s", resp.Status)
		}
	})
	data, err := os.ReadFile(a.events)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n != 2 || !bytes.Contains(data, []byte(`"kind":"resume requested","nodes":"q-dy-r-[1-3]"`)) {
		t.Errorf("the events are:\n%s", data)
	}
}

func TestServe_fleet(t *testing.T) {
	a := serve(t, os.Getuid())
	for _, row := range []struct {
		name, path, body string
		status           int
	}{
		{"resume_for_jobs", "/v1/resume", `{"nodes":"q-dy-r-1","jobs":[{"id":7,"nodes":"q-dy-r-1"}]}`, http.StatusAccepted},
		{"jobs_without_a_host_list", "/v1/resume", `{"nodes":"q-dy-r-1","jobs":[{"id":7,"nodes":"q["}]}`, http.StatusBadRequest},
		{"stop", "/v1/fleet/stop", `{}`, http.StatusAccepted},
		{"stop_now", "/v1/fleet/stop", `{"now":true}`, http.StatusAccepted},
		{"stop_without_a_word", "/v1/fleet/stop", ``, http.StatusBadRequest},
	} {
		t.Run(row.name, func(t *testing.T) {
			a.t = t
			if status, text := a.post(row.path, row.body); status != row.status {
				t.Errorf("got %d %q, want %d", status, text, row.status)
			}
		})
	}
	a.t = t
	is := func(want string) {
		t.Helper()
		resp, err := a.client.Get("http://controller/v1/status")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got manifest.ClusterStatus
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Fleet != want || got.Nodes["idle~"] != 1 {
			t.Errorf("got %+v, %v, want it %s", got, err, want)
		}
	}
	is("stopped")
	if status, text := a.post("/v1/fleet/start", `{}`); status != http.StatusAccepted {
		t.Errorf("got %d %q", status, text)
	}
	is("running")
}

// A request is handed over while nobody works on it: no round runs here.
func TestServe_hands_over_at_once(t *testing.T) {
	a := serve(t, os.Getuid())
	a.slurm.mu.Lock() // nothing may ask Slurm
	defer a.slurm.mu.Unlock()
	for range 50 {
		if status, text := a.post("/v1/resume", `{"nodes":"q-dy-r-1"}`); status != http.StatusAccepted {
			t.Fatal(status, text)
		}
	}
}

func TestServe_lets_only_some_users_in(t *testing.T) {
	a := serve(t, os.Getuid()+1)
	for _, path := range []string{"/v1/resume", "/v1/suspend", "/v1/await", "/v1/share", "/v1/refresh", "/v1/restart", "/v1/fleet/start", "/v1/fleet/stop", "/v1/exports/flush", "/nothing"} {
		if status, text := a.post(path, `{"nodes":"q-dy-r-1"}`); status != http.StatusForbidden {
			t.Errorf("%s: got %d %q", path, status, text)
		}
	}
	if data, err := os.ReadFile(a.events); err != nil || len(data) > 0 {
		t.Errorf("something happened: %s %v", data, err)
	}
}

func TestServe_ends_for_a_restart(t *testing.T) {
	a := serve(t, os.Getuid())
	// The answer may be cut off: whoever asks waits for the next controller.
	resp, err := a.client.Post("http://controller/v1/restart", "application/json", http.NoBody)
	if err == nil {
		resp.Body.Close()
	}
	select {
	case err := <-a.served:
		a.served <- err
	case <-time.After(5 * time.Minute):
		t.Error("it goes on")
	}
}

func TestListen_replaces_what_was_left(t *testing.T) {
	path := filepath.Join(t.TempDir(), client.Socket)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := controller.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket is %v, %v", info, err)
	}
}
