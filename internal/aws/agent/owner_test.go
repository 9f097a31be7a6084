package agent

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
)

// TestOwn starts an agent on i-new with the ticket of some machine. Where that is of
// another, it does nothing until user data has written its own.
func TestOwn(t *testing.T) {
	for _, row := range []struct {
		name, owner string
		waits       bool
	}{
		{"own", "i-new", false},
		{"nobody_says", "", false},
		{"of_an_image", "i-old", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := OwnerFile(filepath.Join(t.TempDir(), "ticket.json"))
			write := func(owner string) {
				if err := os.WriteFile(file, []byte(owner+"\n"), 0o600); err != nil {
					t.Error(err)
				}
			}
			if row.owner != "" {
				write(row.owner)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/api/token") {
					w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
					fmt.Fprint(w, "token")
					return
				}
				fmt.Fprint(w, `{"instanceId": "i-new", "privateIp": "10.0.0.1"}`)
			}))
			defer server.Close()
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
			c, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-2"))
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			told := writer(func(line []byte) {
				log.Write(line)
				write("i-new") // as user data does while the agent waits
			})
			a := &agent{Config: Config{AWS: c, Owner: file, Log: slog.New(slog.NewTextHandler(told, nil))}}
			if err := a.notOwn("i-new"); (err != nil) != row.waits {
				t.Errorf("before: %v", err)
			}
			waited, err := a.own(t.Context())
			if err != nil || waited != row.waits || strings.Contains(log.String(), "ticket=i-old") != row.waits {
				t.Errorf("waited: %t, %v, log %q", waited, err, log.String())
			}
			if err := a.notOwn("i-new"); err != nil {
				t.Errorf("after: %v", err)
			}
		})
	}
}

// writer is called with what is written.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
