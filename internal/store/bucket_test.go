package store_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// keys are credentials for servers that take any.
var keys = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "x"}, nil
})

func TestLocated(t *testing.T) {
	for _, row := range []struct {
		name   string
		status int
		says   string
		want   string
	}{
		{"elsewhere", http.StatusMovedPermanently, "eu-west-1", "eu-west-1"},
		{"signed_for_another", http.StatusBadRequest, "eu-west-1", "eu-west-1"},
		{"no_right_to_look", http.StatusForbidden, "eu-west-1", "eu-west-1"},
		{"here", http.StatusOK, "", "us-east-1"},
		{"here_whatever_it_calls_itself", http.StatusOK, "default", "us-east-1"},
		{"no_such_bucket", http.StatusNotFound, "", "us-east-1"},
		{"moved_without_a_word", http.StatusMovedPermanently, "", "us-east-1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodHead || r.URL.Path != "/b" {
					t.Errorf("asked %s %s", r.Method, r.URL.Path)
				}
				if row.says != "" {
					w.Header().Set("X-Amz-Bucket-Region", row.says)
				}
				w.WriteHeader(row.status)
			}))
			defer server.Close()
			got := store.Located(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Credentials: keys, Bucket: "b"})
			if got.Region != row.want || !got.Known || got.Attempts != 0 {
				t.Errorf("got %+v, want %q, and that the place is known", got, row.want)
			}
		})
	}
}

// TestLocated_nothing: what does not answer is not known, and is left as it was.
func TestLocated_nothing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if got := store.Located(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Credentials: keys, Bucket: "b"}); got.Region != "us-east-1" || got.Known {
		t.Errorf("got %+v", got)
	}
}

// TestLocated_is_known has a place go that answered who looked for the bucket: whoever uses that waits for it as long as he means to.
func TestLocated_is_known(t *testing.T) {
	_, config := storetest.Stand(t)
	proxy, config := faults.New(t, config)
	config.Bucket = "bucket"
	config = store.Located(t.Context(), config)
	proxy.Gone()
	missed := 0
	config.Patience, config.Bell = time.Minute, func(error, time.Duration) {
		if missed++; missed == 3 {
			proxy.Back()
		}
	}
	s, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.Hurry()
	s.Doubt(0)
	if err := s.MakeBucket(t.Context()); err != nil || missed < 3 {
		t.Errorf("missed %d times, %v", missed, err)
	}
}

// twoPages is a place with three buckets, which it does not list at once.
func twoPages(w http.ResponseWriter, r *http.Request) {
	names, next := []string{"a", "b"}, "<ContinuationToken>more</ContinuationToken>"
	if r.URL.Query().Get("continuation-token") == "more" {
		names, next = []string{"c"}, ""
	}
	text := "<ListAllMyBucketsResult><Buckets>"
	for _, n := range names {
		text += "<Bucket><Name>" + n + "</Name></Bucket>"
	}
	_, _ = w.Write([]byte(text + "</Buckets>" + next + "</ListAllMyBucketsResult>"))
}

func TestBuckets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(twoPages))
	defer server.Close()
	got, err := store.Buckets(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Credentials: keys})
	if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestBuckets_of_servers holds that servers that are not ours answer as Buckets reads them.
func TestBuckets_of_servers(t *testing.T) {
	for name, c := range servers(t) {
		patient(t, c)
		if got, err := store.Buckets(t.Context(), c); err != nil || !slices.Contains(got, "bucket") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// TestDial holds that a place is found by the caller's own way to it.
func TestDial(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(twoPages))
	defer server.Close()
	asked := ""
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		asked = address
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(server.URL, "http://"))
	}
	_, err := store.Buckets(t.Context(), store.Config{Endpoint: "http://10.255.255.1:9000", Region: "us-east-1", Credentials: keys, Dial: dial})
	if err != nil || asked != "10.255.255.1:9000" {
		t.Errorf("asked for %q, %v", asked, err)
	}
}
