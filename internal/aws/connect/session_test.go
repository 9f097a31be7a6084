package connect

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/api"
)

// TestSession starts a session as AWS's own client does, and hands it to the plugin
// without a secret on its command line.
func TestSession(t *testing.T) {
	var asked api.SessionOrder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("X-Amz-Target") == "AmazonSSM.StartSession" {
			err = json.Unmarshal(body, &asked)
		}
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		io.WriteString(w, `{"SessionId":"ada-1","TokenValue":"secret","StreamUrl":"wss://example.com"}`)
	}))
	defer server.Close()
	bin := t.TempDir()
	program := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 1.2.650.0; exit; fi\nprintf '%s\\n' \"$@\" \"$AWS_SSM_START_SESSION_RESPONSE\"\n"
	if err := os.WriteFile(filepath.Join(bin, plugin), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"PATH": bin + ":" + os.Getenv("PATH"), "AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	acc, err := api.Open(t.Context(), "us-east-2")
	if err != nil {
		t.Fatal(err)
	}
	session, err := acc.StartSession(t.Context(), SSHSession("i-0123"))
	if err != nil {
		t.Fatal(err)
	}
	if asked.Instance != "i-0123" || asked.Document != "AWS-StartSSHSession" || asked.Parameters["portNumber"][0] != "22" {
		t.Errorf("asked for %+v", asked)
	}
	if err := PluginMissing(t.Context()); err != nil {
		t.Fatal(err)
	}
	line, env, err := Plugin("us-east-2", "lab", session)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(line, " "), "secret") {
		t.Errorf("a secret is on the command line: %q", line)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	want := "AWS_SSM_START_SESSION_RESPONSE\nus-east-2\nStartSession\nlab\n" +
		`{"Target":"i-0123","DocumentName":"AWS-StartSSHSession","Parameters":{"portNumber":["22"]}}` + "\n" + server.URL + "\n" +
		`{"SessionId":"ada-1","StreamUrl":"wss://example.com","TokenValue":"secret"}` + "\n"
	if err != nil || string(out) != want {
		t.Errorf("the plugin got\n%s, %v; want\n%s", out, err, want)
	}
}

func TestShellSession(t *testing.T) {
	if got := ShellSession(head()); got.Parameters["command"][0] != "sudo --login --user=ubuntu" {
		t.Errorf("got %+v", got)
	}
	if got := ShellSession(Head{Instance: "i-1"}); got.Document != "SSM-SessionManagerRunShell" || got.Parameters != nil {
		t.Errorf("of a head node that said nothing: %+v", got)
	}
}
