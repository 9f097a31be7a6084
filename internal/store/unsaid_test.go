package store_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestWhatCannotBeSaidIsNotSaidAgain asks for a version that no header can have: no waiting mends it.
func TestWhatCannotBeSaidIsNotSaidAgain(t *testing.T) {
	_, config := storetest.Stand(t)
	s := patient(t, config)
	if _, err := s.Put(t.Context(), store.Upload{Key: "key", Body: strings.NewReader("text"), SizeBytes: 4}); err != nil {
		t.Fatal(err)
	}
	waits := 0
	config.Bucket, config.Patience, config.Bell = "bucket", time.Hour, func(error, time.Duration) { waits++ }
	s, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head(t.Context(), "key"); err != nil { // the place is known now
		t.Fatal(err)
	}
	_, err = s.Range(t.Context(), "key", 0, 4, "x\r\nHost: evil")
	if err == nil || !strings.Contains(err.Error(), "invalid header field value") || waits > 0 {
		t.Errorf("got %v after %d waits", err, waits)
	}
}

// TestAnswersOfOthers are those of a server that stands before S3, or in its place.
func TestAnswersOfOthers(t *testing.T) {
	for _, row := range []struct {
		status     int
		body, want string
	}{
		{http.StatusBadGateway, "<html><body>Bad<br>gateway</body></html>", "the answer is 502 Bad Gateway, not in the words of S3"},
		{http.StatusForbidden, "<html><body>No<br>way</body></html>", "the answer is 403 Forbidden, not in the words of S3"},
		{http.StatusForbidden, "no", "Forbidden: Forbidden"},
		{http.StatusOK, "<html><body>Hello<br></body></html>", "read the answer: XML syntax error on line 1: element <br> closed by </body>"},
		{http.StatusOK, "hello", "read the answer: unexpected EOF"},
	} {
		s := faulty(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, row.body)
		})
		for _, err := range s.List(t.Context(), "a") {
			if err == nil || err.Error() != "list object a* of bucket b: "+row.want {
				t.Errorf("%d %s: got %v", row.status, row.body, err)
			}
		}
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	_, config := storetest.Stand(t)
	s := patient(t, config)
	if _, err := s.Head(t.Context(), "weird/new\nline\x1b"); err == nil || !strings.Contains(err.Error(), `object weird/new\nline\x1b of bucket`) {
		t.Errorf("got %v", err)
	}
	odd := faulty(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>no,\nno</Message></Error>")
			return
		}
		w.Header().Set("X-Amz-Checksum-Crc64nvme", crcOf([]byte("good")))
		_, _ = io.WriteString(w, "goof")
	})
	body, _, err := odd.Get(t.Context(), "a\nb")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.ReadAll(body); err == nil || !strings.HasPrefix(err.Error(), `read object a\nb: checksum differs: `) {
		t.Errorf("got %v", err)
	}
	if err := odd.Delete(t.Context(), "a"); err == nil || err.Error() != `delete object a of bucket b: AccessDenied: no,\nno` {
		t.Errorf("got %v", err)
	}
}
