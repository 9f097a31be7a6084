package join_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
)

const token = "hf_it's a \"secret\"\n"

// giver gives job 7 of this user his secret, and counts who asked.
func giver(asked *int) join.Giver {
	return func(_ context.Context, uid, job int) (map[string][]byte, error) {
		*asked++
		switch {
		case *asked == 1:
			return nil, errors.New("Slurm does not answer")
		case uid != os.Getuid() || job != 7:
			return nil, fmt.Errorf("%w: job %d is not yours", join.ErrNotGiven, job)
		}
		return map[string][]byte{"HF_TOKEN": []byte(token)}, nil
	}
}

func TestClient_Secrets(t *testing.T) {
	m, asked, wire := munged(t), 0, strings.Builder{}
	handler := join.SecretsHandler(giver(&asked), m)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		wire.WriteString(answer.Body.String())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	defer server.Close()
	c := join.Client{Head: strings.TrimPrefix(server.URL, "http://"), Munge: m, Every: time.Millisecond}
	got, err := c.Secrets(t.Context(), 7)
	if err != nil || string(got["HF_TOKEN"]) != token || asked != 2 {
		t.Errorf("got %q after %d questions, %v", got, asked, err)
	}
	if _, err := c.Secrets(t.Context(), 8); err == nil || !strings.Contains(err.Error(), "job 8 is not yours") || asked != 3 {
		t.Errorf("of another job: %v after %d questions", err, asked)
	}
	if strings.Contains(wire.String(), "hf_") || !strings.HasPrefix(wire.String(), "MUNGE:") {
		t.Errorf("the wire shows %s", &wire)
	}
}

// Only a fresh request for secrets is answered, and what is no request is not.
func TestSecretsHandler_refuses(t *testing.T) {
	m, asked := munged(t), 1
	server := httptest.NewServer(join.SecretsHandler(giver(&asked), m))
	defer server.Close()
	good := credential(t, m, "muster secrets asked 1\n{\"job\":7}")
	for _, row := range []struct {
		name, body string
		status     int
	}{
		{"no_credential", `{"job":7}`, http.StatusUnauthorized},
		{"another_claim", credential(t, m, "muster request 1\n{\"job\":7}"), http.StatusUnauthorized},
		{"no_job", credential(t, m, "muster secrets asked 1\nseven"), http.StatusUnauthorized},
		{"good", good, http.StatusOK},
		{"good_again", good, http.StatusUnauthorized},
	} {
		if status := send(t, server.URL+"/v1/secrets", row.body, ""); status != row.status {
			t.Errorf("%s: answered %d, want %d", row.name, status, row.status)
		}
	}
}

// Who is not the head node's user is not believed, and an answer is good for one question.
func TestClient_Secrets_believes_only_the_head_node(t *testing.T) {
	m, asked, old := munged(t), 1, ""
	real := join.SecretsHandler(giver(&asked), m)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		real.ServeHTTP(answer, r)
		if old == "" {
			old = answer.Body.String()
		}
		_, _ = io.WriteString(w, old)
	}))
	defer server.Close()
	c := join.Client{Head: strings.TrimPrefix(server.URL, "http://"), Munge: m, Every: time.Millisecond}
	if _, err := c.Secrets(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	inTime(t, context.DeadlineExceeded, func(ctx context.Context) error {
		if got, err := c.Secrets(ctx, 7); !errors.Is(err, join.ErrRefused) {
			return fmt.Errorf("an older answer: got %q, %w", got, err)
		}
		return nil
	})
}
