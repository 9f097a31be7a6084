package store_test

import (
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

func TestErrorsAreOneLine(t *testing.T) {
	_, config := storetest.Stand(t)
	s := patient(t, config)
	if _, err := s.Head(t.Context(), "weird/new\nline\x1b"); err == nil || !strings.Contains(err.Error(), `object weird/new\nline\x1b of bucket`) {
		t.Errorf("got %v", err)
	}
}
