package store_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// faulty opens a bucket whose every request the handler answers.
func faulty(t *testing.T, idle time.Duration, h http.HandlerFunc) *store.S3 {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(path, []byte("[default]\naws_access_key_id=A\naws_secret_access_key=B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", CredentialsFile: path, Bucket: "b", Idle: idle})
	if err != nil {
		t.Fatal(err)
	}
	s.Hurry()
	return s
}

func TestDamagedDownloadsAreNoticed(t *testing.T) {
	sums, err := store.Sum(strings.NewReader("good"), 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		body string
		head map[string]string
		want error
	}{
		{"whole", "good", map[string]string{"X-Amz-Meta-Sha256": sums.SHA256}, nil},
		{"whole_by_crc", "good", map[string]string{"X-Amz-Checksum-Crc64nvme": sums.CRC64NVME}, nil},
		{"whole_without_checksum", "good", nil, nil},
		{"flipped_bit", "goof", map[string]string{"X-Amz-Meta-Sha256": sums.SHA256}, store.ErrChecksum},
		{"flipped_bit_by_crc", "goof", map[string]string{"X-Amz-Checksum-Crc64nvme": sums.CRC64NVME}, store.ErrChecksum},
		{"cleanly_truncated", "goo", map[string]string{"X-Amz-Meta-Sha256": sums.SHA256}, store.ErrChecksum},
		{"broken_off", "goo", map[string]string{"X-Amz-Meta-Sha256": sums.SHA256, "Content-Length": "4"}, io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := faulty(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range c.head {
					w.Header().Set(k, v)
				}
				io.WriteString(w, c.body)
			})
			r, _, err := s.Get(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := io.ReadAll(r)
			if !errors.Is(err, c.want) {
				t.Errorf("got %q with %v, want %v", got, err, c.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "read object key: ") {
				t.Errorf("%q does not say what was done", err)
			}
		})
	}
}

func TestSilentServerCannotHangUs(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	var asked atomic.Int32
	silent := func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", "9")
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}
	s := faulty(t, 30*time.Millisecond, silent)
	if _, err := s.Head(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "nothing moved for 30ms") {
		t.Errorf("head got %v", err)
	}
	if n := asked.Load(); n < 2 {
		t.Errorf("it was tried %d times", n)
	}
	// A machine that is slow takes longer than that to begin its answer.
	for idle := 30 * time.Millisecond; ; idle *= 2 {
		r, _, err := faulty(t, idle, silent).Get(t.Context(), "key")
		if err != nil && idle < time.Minute {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := io.ReadAll(r); err == nil || err.Error() != fmt.Sprintf("read object key: nothing moved for %s", idle) {
			t.Errorf("read got %v", err)
		}
		return
	}
}

func TestStormIsSurvived(t *testing.T) {
	var asked atomic.Int32
	s := faulty(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Length", "0")
	})
	if _, err := s.Head(t.Context(), "key"); err != nil {
		t.Errorf("two refusals in a row got %v", err)
	}
}

func TestBadCredentialsShowAtOnce(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "other_profile": "[other]\naws_access_key_id=A\naws_secret_access_key=B\n"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "credentials")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(t.Context(), store.Config{Bucket: "b", CredentialsFile: path}); err == nil || !strings.Contains(err.Error(), "[default]") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRefusalsAreToldFromTrouble(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		code    string
		refused bool
	}{
		{"parent_is_a_file", http.StatusConflict, "ObjectParentIsFile", true},
		{"key_too_long", http.StatusBadRequest, "KeyTooLongError", true},
		{"metadata_too_large", http.StatusBadRequest, "MetadataTooLarge", true},
		{"too_large", http.StatusBadRequest, "EntityTooLarge", true},
		{"credentials_ran_out", http.StatusBadRequest, "ExpiredToken", false},
		{"another_region", http.StatusBadRequest, "AuthorizationHeaderMalformed", false},
		{"no_right", http.StatusForbidden, "AccessDenied", false},
		{"quota", http.StatusForbidden, "QuotaExceeded", false},
		{"no_bucket", http.StatusNotFound, "NoSuchBucket", false},
		{"its_own_fault", http.StatusNotImplemented, "NotImplemented", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := faulty(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>words</Message></Error>", c.code)
			})
			_, err := s.Put(t.Context(), store.Upload{Key: "key", Body: strings.NewReader("x"), SizeBytes: 1})
			if err == nil || errors.Is(err, store.ErrRefused) != c.refused {
				t.Errorf("got %v, refused is to be %v", err, c.refused)
			}
			if got := errors.Is(err, store.ErrDenied); got != (c.name == "no_right") {
				t.Errorf("got %v, denied: %v", err, got)
			}
			if c.refused && err.Error() != "put object key of bucket b: "+c.code+": words" {
				t.Errorf("it says %q", err)
			}
		})
	}
}
