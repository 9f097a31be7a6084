package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/controller/client"
)

func TestExports(t *testing.T) {
	const found = `[{"path":"/fsx1","bucket":"b","export":true,"pending":3,"later":1}]`
	for _, row := range []struct {
		name, answer string
		code, want   int
		fails        string
	}{
		{"some", found, http.StatusOK, 1, ""},
		{"none", "[]", http.StatusOK, 0, ""},
		{"an_older_controller", "404 page not found", http.StatusNotFound, 0, ""},
		{"junk", "{", http.StatusOK, 0, "read the controller's answer: unexpected EOF"},
		{"not_allowed", "user 1 may not\n", http.StatusForbidden, 0, "user 1 may not"},
		{"without_a_word", "", http.StatusForbidden, 0, "403 Forbidden"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := client.Over(roundTrip(func(*http.Request) *http.Response {
				return &http.Response{StatusCode: row.code, Status: "403 Forbidden", Body: io.NopCloser(strings.NewReader(row.answer))}
			})).Exports(t.Context())
			said := ""
			if err != nil {
				said = err.Error()
			}
			if len(got) != row.want || said != row.fails {
				t.Errorf("got %v and %q, want %q", got, said, row.fails)
			}
		})
	}
}

// roundTrip answers HTTP requests without a network.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
