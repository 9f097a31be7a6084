package join_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
)

var member = netip.MustParseAddr("10.0.0.7")

func keys() join.Keys {
	return join.Keys{
		Member: func(_ context.Context, a netip.Addr) (bool, error) {
			if a == netip.MustParseAddr("10.0.0.9") {
				return false, errors.New("EC2 does not answer")
			}
			return a == member || a.IsLoopback(), nil
		},
		Key: func() ([]byte, error) { return []byte("the key of the cluster"), nil },
	}
}

func TestKeyHandler_gives_the_key_to_nobody_else(t *testing.T) {
	for name, c := range map[string]struct {
		from, body string
		status     int
		says       string
	}{
		"a_port_that_everybody_may_have": {"10.0.0.7:1024", "{}", 403, "only root"},
		"a_job_on_a_node":                {"10.0.0.7:40000", "{}", 403, "only root"},
		"another_machine":                {"10.0.0.8:700", "{}", 403, "not known"},
		"nobody_knows":                   {"10.0.0.9:700", "{}", 500, "EC2 does not answer"},
		"no_address":                     {"@", "{}", 403, ""},
		"no_request":                     {"10.0.0.7:700", "x", 400, ""},
		"no_public_key":                  {"10.0.0.7:700", "{}", 500, ""},
		"a_mapped_address":               {"[::ffff:10.0.0.7]:700", "{}", 500, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/key", strings.NewReader(c.body))
			r.RemoteAddr = c.from
			w := httptest.NewRecorder()
			join.KeyHandler(keys()).ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestClient_Key(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("needs root, for a port that only root may use")
		}
		t.Skip("needs root, for a port that only root may use")
	}
	server := httptest.NewServer(join.KeyHandler(keys()))
	t.Cleanup(server.Close)
	c := join.Client{Head: strings.TrimPrefix(server.URL, "http://"), Every: time.Millisecond}
	key, err := c.Key(t.Context())
	if err != nil || string(key) != "the key of the cluster" {
		t.Errorf("got %q, %v", key, err)
	}
}

func TestClient_Key_says_why_it_was_not_given(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := join.Client{Head: "127.0.0.1:1", Every: time.Millisecond}.Key(ctx)
	if err == nil || !strings.Contains(err.Error(), "ask the head node at 127.0.0.1:1 for the munge key") {
		t.Errorf("got %v", err)
	}
}
