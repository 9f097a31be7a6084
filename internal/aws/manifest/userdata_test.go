package manifest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// program stands for muster: it notes how it was called.
const program = "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$MUSTER_ROOT/called\"\n"

const (
	accessKey = "ASIAEXAMPLE"
	secretKey = "secret/of+the=role"
	token     = "session//token+=="
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func ticket() manifest.Ticket {
	return manifest.Ticket{
		Cluster: "train", Region: "ap-southeast-3", Bucket: "muster-train", Role: manifest.RoleCompute,
		Program: manifest.Program{Key: manifest.ProgramKey(sum(program), "amd64"), SHA256: sum(program)},
		Head:    "10.0.0.5", Queue: "gpu", Resource: "h200",
	}
}

// place is the metadata service and S3, as far as user data speaks with them.
type place struct {
	t      *testing.T
	body   string
	status []int // of the first answers of S3
	gets   atomic.Int32
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const roles = "/latest/meta-data/iam/security-credentials/"
	switch {
	case r.URL.Path == "/latest/api/token":
		if r.Method != http.MethodPut || r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") == "" {
			p.t.Errorf("token was asked for with %s and header %v", r.Method, r.Header)
		}
		fmt.Fprint(w, "imds-token")
	case strings.HasPrefix(r.URL.Path, "/latest/") && r.Header.Get("X-Aws-Ec2-Metadata-Token") != "imds-token":
		http.Error(w, "no token", http.StatusUnauthorized)
	case r.URL.Path == "/latest/dynamic/instance-identity/document":
		fmt.Fprint(w, `{"instanceId": "i-1", "region": "ap-southeast-3"}`)
	case r.URL.Path == roles:
		fmt.Fprint(w, "compute-role\n")
	case r.URL.Path == roles+"compute-role":
		fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q}`, accessKey, secretKey, token)
	default:
		p.object(w, r)
	}
}

func (p *place) object(w http.ResponseWriter, r *http.Request) {
	n := int(p.gets.Add(1))
	if want := "/muster-train/" + manifest.ProgramKey(sum(program), "amd64"); r.URL.Path != want {
		p.t.Errorf("asked for %s instead of %s", r.URL.Path, want)
	}
	p.verify(r)
	if n <= len(p.status) {
		http.Error(w, "not now", p.status[n-1])
		return
	}
	fmt.Fprint(w, p.body)
}

// verify signs the same request with the SDK and compares.
func (p *place) verify(r *http.Request) {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		p.t.Error(err)
		return
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.Path, nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	payload := r.Header.Get("X-Amz-Content-Sha256")
	again.Header.Set("X-Amz-Content-Sha256", payload)
	creds := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey, SessionToken: token}
	err = signer.NewSigner().SignHTTP(r.Context(), creds, again, payload, "s3", "ap-southeast-3", at,
		func(o *signer.SignerOptions) { o.DisableURIPathEscaping = true })
	if err != nil {
		p.t.Error(err)
	}
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
		p.t.Errorf("signature\n got %s\nwant %s", got, want)
	}
	if r.Header.Get("X-Amz-Security-Token") != token {
		p.t.Error("the session token is not sent")
	}
}

// boot runs user data in a root of its own.
func boot(t *testing.T, root string, p *place, k manifest.Ticket) (string, error) {
	t.Helper()
	p.t = t
	server := httptest.NewServer(p)
	defer server.Close()
	if err := os.MkdirAll(filepath.Join(root, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh")
	cmd.Stdin = strings.NewReader(manifest.UserData(k))
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "MUSTER_ROOT=" + root, "MUSTER_SHUTDOWN=touch " + root + "/off", "MUSTER_FETCH_SECONDS=3",
		"AWS_ENDPOINT_URL=" + server.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + server.URL,
		"http_proxy=http://127.0.0.1:9", "no_proxy=127.0.0.1",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func needsPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("no python3, which user data needs")
		}
		t.Skip("no python3, which user data needs")
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

func TestUserDataFetchesAndStartsTheAgent(t *testing.T) {
	needsPython(t)
	root := t.TempDir()
	p := &place{body: program, status: []int{http.StatusForbidden}}
	out, err := boot(t, root, p, ticket())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := read(t, root, "called"), "agent\n--ticket\n"+root+"/etc/muster/ticket.json\n"; got != want {
		t.Errorf("muster was called with %q, want %q", got, want)
	}
	if got := read(t, root, "etc/muster/instance"); got != "i-1\n" {
		t.Errorf("the ticket is of %q", got)
	}
	if got := p.gets.Load(); got != 2 {
		t.Errorf("the object was asked for %d times, want 2: one is refused", got)
	}
	if exists(root, "off") || exists(root, "opt/muster/bin/muster.new") {
		t.Error("the machine was ended, or half a program was left")
	}
	if _, err := boot(t, root, p, ticket()); err != nil || p.gets.Load() != 2 {
		t.Errorf("a second boot: %v, and %d requests in all, want 2", err, p.gets.Load())
	}
}

func TestUserDataGivesUp(t *testing.T) {
	needsPython(t)
	for name, row := range map[string]struct {
		place *place
		says  string
	}{
		"another_program": {&place{body: program + "evil"}, "SHA-256 is " + sum(program+"evil") + ", not " + sum(program)},
		"no_program":      {&place{status: []int{404, 404, 404, 404}}, "HTTP Error 404"},
		"no_right":        {&place{status: []int{403, 403, 403, 403, 403}}, "HTTP Error 403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			out, err := boot(t, root, row.place, ticket())
			if err == nil || !strings.Contains(out, row.says) {
				t.Errorf("got %v and %q, want %q", err, out, row.says)
			}
			if exists(root, "opt/muster/bin/muster") || exists(root, "called") {
				t.Error("a program that was not proved was installed")
			}
			if !exists(root, "off") {
				t.Error("a compute node that cannot join was not ended")
			}
			if got := read(t, root, "dev/console"); !strings.Contains(got, "muster was not fetched") {
				t.Errorf("the console says %q", got)
			}
		})
	}
}

func TestHeadNodeStaysForALook(t *testing.T) {
	needsPython(t)
	k, root := ticket(), t.TempDir()
	k.Role = manifest.RoleHead
	if out, err := boot(t, root, &place{body: "evil"}, k); err == nil || exists(root, "off") {
		t.Errorf("got %v and %q; ended: %v", err, out, exists(root, "off"))
	}
}

func TestUserDataGoesThroughSub(t *testing.T) {
	k := ticket()
	k.Head, k.Zone = "${HeadAddress}", "${Zone}"
	text := manifest.UserData(k)
	if got := strings.Count(text, "${"); got != 2 {
		t.Errorf("user data has ${ %d times; Fn::Sub would fill in more than the ticket's two", got)
	}
	if !strings.HasPrefix(text, "#!/bin/sh\n") || strings.Contains(text, "@") {
		t.Errorf("user data is no script, or has unfilled places:\n%s", text)
	}
	if room := manifest.MaxUserData - len(text); room < 4096 {
		t.Errorf("user data leaves only %d bytes", room)
	}
}

func TestUserDataPassesShellcheck(t *testing.T) {
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("no shellcheck")
		}
		t.Skip("no shellcheck")
	}
	cmd := exec.CommandContext(t.Context(), path, "-")
	cmd.Stdin = strings.NewReader(manifest.UserData(ticket()))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
