package local

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForward: what builders read has what the user has, too.
func TestForward(t *testing.T) {
	own := []byte(`{"auths":{"10.99.0.1:5000":{"auth":"b3du"}}}`)
	for users, want := range map[string]string{
		"": `{"auths":{"10.99.0.1:5000":{"auth":"b3du"},"127.0.0.1:7":{"auth":"b3du"}}}`,
		`{"auths":{"ghcr.io":{"auth":"aGlz"}},"credHelpers":{"x":"y"}}`: `{"auths":{"10.99.0.1:5000":{"auth":"b3du"},"127.0.0.1:7":{"auth":"b3du"},"ghcr.io":{"auth":"aGlz"}},"credHelpers":{"x":"y"}}`,
	} {
		got, err := withAccount([]byte(users), own, "127.0.0.1:7")
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s %v, want %s", users, got, err, want)
		}
	}
	if _, err := withAccount([]byte("no"), own, "127.0.0.1:7"); err == nil {
		t.Error("what is no JSON is taken")
	}
	added := "[[registry]]\nprefix = \"10.99.0.1:5000\"\nlocation = \"127.0.0.1:7\"\ninsecure = true\n\n[[registry]]\nlocation = \"127.0.0.1:7\"\ninsecure = true\n"
	for conf, want := range map[string]string{"": added, "short = 1": "short = 1\n\n" + added} {
		if diff := cmp.Diff(want, withRegistry(conf, "127.0.0.1:7")); diff != "" {
			t.Errorf("%q: want -, got +:\n%s", conf, diff)
		}
	}
}

// TestForwardHeeds: a pipe among the user's files keeps nobody waiting who was told to stop.
func TestForwardHeeds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "auth.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	told := errors.New("told to stop")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(told)
	if _, err := firstFile(ctx, []string{"", pipe + "s", pipe}); !errors.Is(err, told) {
		t.Errorf("got %v", err)
	}
}
