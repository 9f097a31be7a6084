package store

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// leased are credentials that end.
var leased = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "x", SessionToken: "token"}, nil
})

// received is what came to a place.
type received struct {
	way, body string
	header    http.Header
}

// place answers as often as it is told with a failure before it answers well.
func place(t *testing.T, failures int) (*httptest.Server, *[]received) {
	t.Helper()
	var all []received
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		all = append(all, received{r.Method + " " + r.RequestURI, body.String(), r.Header})
		if len(all) <= failures {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Range", "bytes 2-4/10")
			w.WriteHeader(http.StatusPartialContent)
			w.Write([]byte("234"))
			return
		}
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("x-amz-server-side-encryption", "aws:kms")
		w.Header().Set(headerCRC, r.Header.Get(headerCRC))
	}))
	t.Cleanup(place.Close)
	return place, &all
}

// patient opens a bucket whose small requests go the short way.
func patient(t *testing.T, endpoint string) *S3 {
	t.Helper()
	s, err := Open(t.Context(), Config{Endpoint: endpoint, Region: "eu-west-1", Bucket: "bucket", Patience: time.Minute, Credentials: leased})
	if err != nil {
		t.Fatal(err)
	}
	s.patience.first = time.Millisecond
	return s
}

func TestShort_asks_as_the_SDK_does(t *testing.T) {
	uploads := map[string]Upload{
		"plain":     {Key: "a/b"},
		"metadata":  {Key: "a", Meta: map[string]string{"file-mtime": "12ns", "file-owner": "0"}},
		"class":     {Key: "a", Class: "STANDARD"},
		"encrypted": {Key: "a", KMSKey: "arn:aws:kms:eu-west-1:123456789012:key/k"},
		"own key":   {Key: "a", KMSKey: accountKey},
		"odd key":   {Key: "a b//c/../ä+%2F&=?*'()!~#\n\x01"},
	}
	conditions := map[string]func(s *S3, ctx context.Context, u Upload) (Object, error){
		"as it is":      (*S3).Put,
		"if none":       func(s *S3, ctx context.Context, u Upload) (Object, error) { return s.PutIf(ctx, u, "") },
		"if it is this": func(s *S3, ctx context.Context, u Upload) (Object, error) { return s.PutIf(ctx, u, `"one"`) },
	}
	for name, u := range uploads {
		for condition, put := range conditions {
			for _, content := range []string{"", "content"} {
				t.Run(name+" "+condition+" "+content, func(t *testing.T) {
					at, all := place(t, 0)
					u.Body, u.SizeBytes = strings.NewReader(content), int64(len(content))
					s := patient(t, at.URL)
					s.classes.Store("STANDARD", "STANDARD")
					short, err := put(s, t.Context(), u)
					if err != nil {
						t.Fatal(err)
					}
					s.short = nil
					long, err := put(s, t.Context(), u)
					if err != nil {
						t.Fatal(err)
					}
					if short.Version != long.Version || short.SHA256 != long.SHA256 || short.CRC64NVME != long.CRC64NVME {
						t.Errorf("the short way brought %+v, the SDK %+v", short, long)
					}
					sameRequest(t, (*all)[0], (*all)[1])
				})
			}
		}
	}
}

// sameRequest compares two requests, but for what is of one of them alone.
func sameRequest(t *testing.T, short, long received) {
	t.Helper()
	if short.way != long.way || short.body != long.body {
		t.Errorf("asked %s %q, the SDK %s %q", short.way, short.body, long.way, long.body)
	}
	for _, own := range []string{"User-Agent", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "X-Amz-Date"} {
		short.header.Del(own)
		long.header.Del(own)
	}
	signed := func(h http.Header) string {
		_, rest, _ := strings.Cut(h.Get("Authorization"), "SignedHeaders=")
		names, _, _ := strings.Cut(rest, ",")
		h.Del("Authorization")
		return strings.Join(slices.DeleteFunc(strings.Split(names, ";"), func(n string) bool { return strings.HasPrefix(n, "amz-sdk-") }), ";")
	}
	if a, b := signed(short.header), signed(long.header); a != b {
		t.Errorf("signed %s, the SDK %s", a, b)
	}
	if !maps.EqualFunc(short.header, long.header, slices.Equal) {
		t.Errorf("asked with %v, the SDK with %v", short.header, long.header)
	}
}

func TestShort_reads_as_the_SDK_does(t *testing.T) {
	for _, row := range []struct{ key, version string }{{"a/b", ""}, {"a", `"one"`}, {"a b//../ä+%2F&=?*\n", ""}} {
		t.Run(row.key, func(t *testing.T) {
			at, all := place(t, 0)
			s := patient(t, at.URL)
			reads(t, s, row.key, row.version)
			s.short = nil
			reads(t, s, row.key, row.version)
			if len(*all) != 2 {
				t.Fatalf("asked %d times, want 2", len(*all))
			}
			sameRequest(t, (*all)[0], (*all)[1])
		})
	}
}

func TestShort_reads_what_was_asked_for_alone(t *testing.T) {
	for _, says := range []string{"", "bytes 2-5/10", "bytes 1-4/10", "bytes 2-40/100", "2-4"} {
		var short, all int
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if all++; r.Header.Get("Amz-Sdk-Request") == "" {
				short++
				w.Header().Set("Content-Range", says)
				w.WriteHeader(http.StatusPartialContent)
				w.Write([]byte("oth"))
				return
			}
			w.Header().Set("Content-Range", "bytes 2-4/10")
			w.WriteHeader(http.StatusPartialContent)
			w.Write([]byte("234"))
		}))
		s := patient(t, at.URL)
		reads(t, s, "a", "")
		at.Close()
		if short != 1 || all != 2 {
			t.Errorf("to %q it asked %d times, %d of them the short way", says, all, short)
		}
	}
}

// reads reads the three bytes from the third on.
func reads(t *testing.T, s *S3, key, version string) {
	t.Helper()
	body, err := s.Range(t.Context(), key, 2, 3, version)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); string(got) != "234" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestShort_leaves_failures_to_the_SDK(t *testing.T) {
	at, all := place(t, 2)
	s := patient(t, at.URL)
	var sent int64
	u := Upload{Key: "a", Body: strings.NewReader("content"), SizeBytes: 7, Sent: func(n int64) { sent += n }}
	if _, err := s.Put(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if sent != 7 {
		t.Errorf("told of %d bytes that went out, want 7", sent)
	}
	if _, err := s.Put(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	var ways []bool
	for _, a := range *all {
		ways = append(ways, a.header.Get("Amz-Sdk-Request") == "")
		if a.body != "content" {
			t.Errorf("sent %q", a.body)
		}
	}
	if want := []bool{true, false, false, false}; !slices.Equal(ways, want) {
		t.Errorf("the short way was taken: %v, want %v", ways, want)
	}
}

func TestShort_is_not_for_places_that_sign_otherwise(t *testing.T) {
	for _, c := range []struct {
		bucket, endpoint string
		want             bool
	}{
		{"bucket", "", true},
		{"bucket.with.dots", "", true},
		{"bucket", "http://127.0.0.1:9000/below", true},
		{"fast--usw2-az1--x-s3", "", false},
	} {
		s, err := Open(t.Context(), Config{Endpoint: c.endpoint, Region: "us-west-2", Bucket: c.bucket, Patience: time.Minute, Credentials: leased})
		if err != nil {
			t.Fatal(err)
		}
		if s.short.open() != c.want {
			t.Errorf("bucket %s at %q: the short way is open: %v, want %v", c.bucket, c.endpoint, s.short.open(), c.want)
		}
	}
}
