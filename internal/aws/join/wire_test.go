package join_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/join"
)

// The wire is held here against munge's own programs, without this package's.

func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

func credential(t *testing.T, m join.Munge, payload string) string {
	t.Helper()
	cmd := exec.Command("munge", "--socket="+m.Socket)
	cmd.Stdin = strings.NewReader(payload)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("munge: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func send(t *testing.T, url, body, authorization string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
