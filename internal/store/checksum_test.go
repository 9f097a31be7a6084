package store_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
)

// Of "123456789", whose checksums are known.
var known = map[string]string{
	"crc32": "y/Q5Jg==", "crc32c": "4waSgw==", "sha1": "98O8HYCOBHMq32eZZczDTKeuNEE=", "crc64nvme": "rosUhgp5mIg=",
	"sha256": "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
}

// TestObjectsOfOthersHaveTheirChecksums is of objects that other programs put, with checksums of their choice.
func TestObjectsOfOthersHaveTheirChecksums(t *testing.T) {
	for _, row := range []struct {
		name    string
		answers map[string]string // headers, without their beginning
		known   bool
	}{
		{"crc32", map[string]string{"crc32": known["crc32"], "type": "FULL_OBJECT"}, true},
		{"crc32c", map[string]string{"crc32c": known["crc32c"], "type": "FULL_OBJECT"}, true},
		{"sha1", map[string]string{"sha1": known["sha1"]}, true},
		{"sha256", map[string]string{"sha256": known["sha256"], "type": "FULL_OBJECT"}, true},
		{"crc64nvme", map[string]string{"crc64nvme": known["crc64nvme"], "type": "FULL_OBJECT"}, true},
		{"of_parts", map[string]string{"crc32": known["crc32"], "type": "COMPOSITE"}, false},
		{"of_parts_by_its_form", map[string]string{"crc32": known["crc32"] + "-2"}, false},
		{"of_another_length", map[string]string{"crc64nvme": known["crc32"]}, false},
		{"no_base64", map[string]string{"crc32": "????"}, false},
		{"none", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			body, headers := "123456789", maps.Clone(row.answers)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for name, text := range headers {
					w.Header().Set("X-Amz-Checksum-"+name, text)
				}
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			s, err := store.Open(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Credentials: keys, Bucket: "b", Attempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			if o, err := s.Head(t.Context(), "k"); err != nil || o.HasSum() != row.known {
				t.Errorf("head: got %+v, %v", o, err)
			}
			if err := readAll(t, s); err != nil {
				t.Errorf("the content: %v", err)
			}
			body = "123456780"
			if err := readAll(t, s); errors.Is(err, store.ErrChecksum) != row.known {
				t.Errorf("other content of the same size: %v", err)
			}
		})
	}
}

func readAll(t *testing.T, s store.Store) error {
	t.Helper()
	body, _, err := s.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

func TestArchivedObjectsSayWhatToDo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>InvalidObjectState</Code><Message>The operation is not valid for the object's storage class</Message></Error>`)
	}))
	defer server.Close()
	s, err := store.Open(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Credentials: keys, Bucket: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, store.ErrArchived) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Range(t.Context(), "k", 0, 1, ""); !errors.Is(err, store.ErrArchived) {
		t.Errorf("range: %v", err)
	}
}
