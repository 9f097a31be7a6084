package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// TestBucketWaits has that a wait for credentials is said once, with what ends it, and other waits each.
func TestBucketWaits(t *testing.T) {
	expired, gone := store.ErrCredentials, errors.New("connection refused")
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	waits := bucketWaits{limit: 10 * time.Minute, renewal: "run `aws sso login`"}
	for _, row := range []struct {
		name  string
		err   error
		wait  time.Duration
		after time.Duration
		want  string
	}{
		{"gone", gone, 8 * time.Second, 0, "connection refused: again in 8 s"},
		{"gone_for_a_moment", gone, 200 * time.Millisecond, 0, ""},
		{"expired", expired, 200 * time.Millisecond, time.Second, "waiting 10 min for valid credentials: the credentials are not valid; run `aws sso login`"},
		{"again", expired, 8 * time.Second, 50 * time.Second, ""},
		{"and_again", expired, 8 * time.Second, 100 * time.Second, ""},
		{"expired_anew", expired, time.Second, time.Hour, "waiting 10 min for valid credentials: the credentials are not valid; run `aws sso login`"},
		{"still_gone", gone, 8 * time.Second, time.Hour, "connection refused: again in 8 s"},
	} {
		if got := waits.notice(row.err, row.wait, begin.Add(row.after)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestTransferFlags(t *testing.T) {
	for _, row := range []struct {
		name  string
		flags transferFlags
		want  store.Config
		fails bool
	}{
		{"default", transferFlags{}, store.Config{Patience: 10 * time.Minute}, false},
		{"both", transferFlags{"1K", time.Hour}, store.Config{Patience: time.Hour, BytesPerSecond: 1024}, false},
		{"too_short", transferFlags{wait: time.Millisecond}, store.Config{}, true},
		{"negative", transferFlags{wait: -time.Hour}, store.Config{}, true},
		{"nothing_passes", transferFlags{limit: "0"}, store.Config{}, true},
	} {
		var got store.Config
		err := row.flags.configure(&got)
		if (err != nil) != row.fails || err == nil && (got.Patience != row.want.Patience || got.BytesPerSecond != row.want.BytesPerSecond) {
			t.Errorf("%s: got %s and %d, %v", row.name, got.Patience, got.BytesPerSecond, err)
		}
	}
}
