package store_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestWrongSettings holds that a mistake about where a place is ends what is tried soon, and is told in plain words.
func TestWrongSettings(t *testing.T) {
	_, config := storetest.Stand(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	distrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer distrusted.Close()
	for name, c := range map[string]struct {
		endpoint string
		dial     func(context.Context, string, string) (net.Conn, error)
		want     string
	}{
		"nobody":     {"http://127.0.0.1:1", nil, "nothing answers at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused, "},
		"plain":      {strings.Replace(plain.URL, "http", "https", 1), nil, "; say http:// in place of https://"},
		"distrusted": {distrusted.URL, nil, "; see whether AWS_CA_BUNDLE names the authority of 127.0.0.1:"},
		"nameless": {"http://nowhere.invalid", func(_ context.Context, _, address string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}, "no such host; see whether the region and the endpoint are right"},
	} {
		t.Run(name, func(t *testing.T) {
			config.Bucket, config.Patience, config.Endpoint, config.Dial = "bucket", time.Hour, c.endpoint, c.dial
			s, err := store.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			s.Hurry()
			s.Doubt(time.Millisecond)
			_, err = s.Head(t.Context(), "key")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "StatusCode") {
				t.Errorf("got %v", err)
			}
		})
	}
}
