package join_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/aws/join"
)

// munged starts a munged of its own.
func munged(t *testing.T) join.Munge {
	t.Helper()
	path, err := exec.LookPath("munged")
	if err != nil {
		path = "/usr/sbin/munged"
		if _, err := os.Stat(path); err != nil {
			if os.Getenv("MUSTER_CI") != "" {
				t.Fatal("munged is not installed")
			}
			t.Skip("munged is not installed")
		}
	}
	dir, err := os.MkdirTemp("", "join") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command(path, "--foreground", "--force", "--key-file="+key, "--socket="+socket,
		"--pid-file="+filepath.Join(dir, "pid"), "--seed-file="+filepath.Join(dir, "seed"), "--log-file="+filepath.Join(dir, "log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(5 * time.Minute); ; {
		if _, err := os.Stat(socket); err == nil {
			return join.Munge{Socket: socket, UID: os.Getuid()}
		}
		if time.Now().After(deadline) {
			t.Fatal("munged does not start")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// headNode is a controller that knows some machines.
type headNode struct {
	mu     sync.Mutex
	places map[string]join.Place
	asked  int
	ready  []join.Ready
	failed []join.Failure
	err    error
}

func (d *headNode) Join(_ context.Context, h join.Hello) (join.Place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.err != nil {
		return join.Place{}, d.err
	}
	p, ok := d.places[h.InstanceID]
	if !ok {
		return p, join.ErrNotYet
	}
	return p, nil
}

func (d *headNode) Ready(_ context.Context, r join.Ready) (join.ReadyAnswer, error) {
	d.ready = append(d.ready, r)
	return join.ReadyAnswer{Register: r.Again}, nil
}

func (d *headNode) Failed(_ context.Context, f join.Failure) error {
	d.failed = append(d.failed, f)
	return nil
}

var place = join.Place{Node: "q-dy-r-1", Head: "10.0.0.4", Cluster: "c", Revision: "abc"}

func open(t *testing.T, m join.Munge) (*headNode, join.Client) {
	d := &headNode{places: map[string]join.Place{"i-1": place}}
	server := httptest.NewServer(join.Handler(d, m))
	t.Cleanup(server.Close)
	return d, join.Client{Head: strings.TrimPrefix(server.URL, "http://"), Munge: m, Every: time.Millisecond}
}

func TestClient_speaks_to_the_handler(t *testing.T) {
	d, c := open(t, munged(t))
	got, err := c.Join(t.Context(), join.Hello{InstanceID: "i-1"})
	if err != nil || got != place {
		t.Fatalf("joined as %+v, %v", got, err)
	}
	ready := join.Ready{InstanceID: "i-1", Node: "q-dy-r-1", Seconds: 2.5}
	if s, err := c.Ready(t.Context(), ready); err != nil || s.Register {
		t.Fatal(s, err)
	}
	again := join.Ready{InstanceID: "i-1", Node: "q-dy-r-1", Again: true}
	if s, err := c.Ready(t.Context(), again); err != nil || !s.Register {
		t.Fatal(s, err)
	}
	failure := join.Failure{InstanceID: "i-2", Step: "mount /fsx", Error: "no such host", LogTail: []string{"a", "b"}}
	if err := c.Failed(t.Context(), failure); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]join.Ready{ready, again}, d.ready) + cmp.Diff([]join.Failure{failure}, d.failed); diff != "" {
		t.Error(diff)
	}
}

func TestClient_asks_until_the_controller_knows(t *testing.T) {
	d, c := open(t, munged(t))
	d.mu.Lock()
	delete(d.places, "i-1")
	d.mu.Unlock()
	go func() {
		for {
			d.mu.Lock()
			if d.asked >= 2 {
				d.places["i-1"] = place
				d.mu.Unlock()
				return
			}
			d.mu.Unlock()
			<-time.After(time.Millisecond)
		}
	}()
	if got, err := c.Join(t.Context(), join.Hello{InstanceID: "i-1"}); err != nil || got != place {
		t.Errorf("joined as %+v, %v", got, err)
	}
}

// inTime gives an attempt more and more time until it comes to what it should: a slow machine takes long for one request.
func inTime(t *testing.T, late error, attempt func(context.Context) error) {
	t.Helper()
	for limit := time.Second; ; limit *= 4 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), limit, late)
		err := attempt(ctx)
		cancel()
		if err == nil {
			return
		}
		if limit > time.Minute {
			t.Error(err)
			return
		}
	}
}

func TestClient_says_why_it_gave_up(t *testing.T) {
	m := munged(t)
	d, c := open(t, m)
	late := errors.New("5 minutes are over")
	for _, row := range []struct {
		name   string
		client join.Client
		err    error
		want   string
	}{
		{"unknown", c, nil, join.ErrNotYet.Error()},
		{"broken_controller", c, errors.New("no idea"), "no idea"},
		{"no_controller", join.Client{Head: "127.0.0.1:1", Munge: m, Every: time.Millisecond}, nil, "connection refused"},
		{"no_munged", join.Client{Head: c.Head, Munge: join.Munge{Socket: "/nonexistent/socket"}, Every: time.Millisecond}, nil, "make a credential"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d.mu.Lock()
			d.err = row.err
			d.mu.Unlock()
			inTime(t, late, func(ctx context.Context) error {
				_, err := row.client.Join(ctx, join.Hello{InstanceID: "i-9"})
				if !errors.Is(err, late) || !strings.Contains(err.Error(), row.want) {
					return fmt.Errorf("got %w, want %q and %q", err, late, row.want)
				}
				return nil
			})
		})
	}
}

// Two munged with two keys are two clusters.
func TestHandler_refuses(t *testing.T) {
	m := munged(t)
	_, c := open(t, m)
	url := "http://" + c.Head + "/v1/join"
	body := `{"instance_id":"i-1"}`
	good := credential(t, m, "muster request 1\n/v1/join\n"+digest(body))
	used := credential(t, m, "muster request 1\n/v1/join\n"+digest(body))
	if status := send(t, url, body, "Munge "+used); status != http.StatusOK {
		t.Fatalf("a good request is answered %d", status)
	}
	for _, row := range []struct {
		name, url, body, credential string
		status                      int
	}{
		{"nothing", url, body, "", http.StatusUnauthorized},
		{"another_scheme", url, body, "Bearer x", http.StatusUnauthorized},
		{"nonsense", url, body, "Munge MUNGE:AAAA:", http.StatusUnauthorized},
		{"used_before", url, body, "Munge " + used, http.StatusUnauthorized},
		{"of_another_body", url, `{"instance_id":"i-2"}`, "Munge " + credential(t, m, "muster request 1\n/v1/join\n"+digest(body)), http.StatusUnauthorized},
		{"of_another_path", strings.Replace(url, "join", "ready", 1), body, "Munge " + credential(t, m, "muster request 1\n/v1/join\n"+digest(body)), http.StatusUnauthorized},
		{"of_nothing", url, body, "Munge " + credential(t, m, ""), http.StatusUnauthorized},
		{"of_an_answer", url, body, "Munge " + credential(t, m, "muster answer 1\n/v1/join\n"+digest(body)), http.StatusUnauthorized},
		{"no_json", url, "{", "Munge " + credential(t, m, "muster request 1\n/v1/join\n"+digest("{")), http.StatusBadRequest},
		{"too_long", url, strings.Repeat("x", 2<<20), "Munge " + good, http.StatusBadRequest},
		{"another_path", strings.Replace(url, "join", "explode", 1), body, "Munge " + good, http.StatusNotFound},
		{"good", url, body, "Munge " + good, http.StatusOK},
	} {
		t.Run(row.name, func(t *testing.T) {
			if status := send(t, row.url, row.body, row.credential); status != row.status {
				t.Errorf("answered %d, want %d", status, row.status)
			}
		})
	}
}

func TestHandler_refuses_other_users(t *testing.T) {
	m := munged(t)
	_, c := open(t, join.Munge{Socket: m.Socket, UID: m.UID + 1})
	body := `{"instance_id":"i-1"}`
	if status := send(t, "http://"+c.Head+"/v1/join", body, "Munge "+credential(t, m, "muster request 1\n/v1/join\n"+digest(body))); status != http.StatusUnauthorized {
		t.Errorf("answered %d", status)
	}
}

// Somebody in between who changes the answer, or answers himself, is seen.
func TestClient_believes_only_the_head_node(t *testing.T) {
	m := munged(t)
	real, c := open(t, m)
	for _, row := range []struct {
		name   string
		forge  func(h http.Header, status int, body string) (int, string)
		served bool
	}{
		{"as_it_is", func(_ http.Header, s int, b string) (int, string) { return s, b }, true},
		{"another_node", func(_ http.Header, s int, b string) (int, string) { return s, strings.Replace(b, "r-1", "r-2", 1) }, false},
		{"another_status", func(_ http.Header, _ int, b string) (int, string) { return http.StatusNotFound, b }, false},
		{"no_proof", func(h http.Header, s int, b string) (int, string) { h.Del("Muster-Credential"); return s, b }, false},
		{"an_older_proof", func(h http.Header, s int, b string) (int, string) {
			h.Set("Muster-Credential", credential(t, m, "muster answer 1\nolder\n200\n"+digest(b)))
			return s, b
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := httptest.NewRecorder()
				join.Handler(real, m).ServeHTTP(answer, r)
				status, body := row.forge(answer.Header(), answer.Code, answer.Body.String())
				for k, v := range answer.Header() {
					w.Header()[k] = v
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			defer between.Close()
			c.Head = strings.TrimPrefix(between.URL, "http://")
			inTime(t, context.DeadlineExceeded, func(ctx context.Context) error {
				_, err := c.Join(ctx, join.Hello{InstanceID: "i-1"})
				if served := err == nil; served != row.served || !served && !errors.Is(err, join.ErrRefused) {
					return fmt.Errorf("got %w, served should be %t", err, row.served)
				}
				return nil
			})
		})
	}
}
