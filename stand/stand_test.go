package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// asCommand makes the test binary behave as muster-stand, so that tests start, signal and kill the real process.
const asCommand = "MUSTER_STAND_TEST_AS_COMMAND"

const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// server is one running muster-stand s3.
type server struct {
	cmd     *exec.Cmd
	stderr  *bytes.Buffer
	address string
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

func credentialsFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials")
	text := "[other]\naws_access_key_id = no\n\n[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = s3cr3t=/+\n"
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs a server and returns when it answers /health.
func start(t *testing.T, root string, more ...string) *server {
	t.Helper()
	addressFile := filepath.Join(t.TempDir(), "address")
	args := append([]string{"s3", "--root", root, "--listen", "127.0.0.1:0", "--address-file", addressFile,
		"--credentials", credentialsFile(t, 0o600)}, more...)
	s := &server{cmd: command(t, args...), stderr: &bytes.Buffer{}}
	s.cmd.Stderr = s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	s.address = waitFor(t, addressFile)
	resp, err := http.Get("http://" + s.address + "/health")
	if err != nil {
		t.Fatalf("ask for health: %v\n%s", err, s.stderr)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("health is %s", resp.Status)
	}
	return s
}

// waitFor polls for the address file, which appears whole.
func waitFor(t *testing.T, path string) string {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		if text, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(text))
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the server wrote no address")
		}
	}
}

func (s *server) client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + s.address),
		Region:       "us-east-1",
		UsePathStyle: true,
		Retryer:      aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDTEST", SecretAccessKey: "s3cr3t=/+"}, nil
		}),
	})
}

func put(t *testing.T, c *s3.Client, key, body string) {
	t.Helper()
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("data"), Key: &key,
		Body: strings.NewReader(body), Metadata: map[string]string{"sha256": "abc"},
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func wantObject(t *testing.T, c *s3.Client, key, body string) {
	t.Helper()
	out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	defer out.Body.Close()
	got, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	if string(got) != body || out.Metadata["sha256"] != "abc" || aws.ToString(out.ChecksumCRC64NVME) == "" {
		t.Errorf("%s = %q with metadata %v and checksum %q, want %q", key, got, out.Metadata, aws.ToString(out.ChecksumCRC64NVME), body)
	}
}

func TestObjectsAreFilesAndOutliveTheServer(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			root := t.TempDir()
			s := start(t, root, "--bucket", "data", "--bucket", "checkpoints")
			put(t, s.client(), "dir/a.bin", "first")
			put(t, s.client(), "dir/a.bin", "hello")
			wantObject(t, s.client(), "dir/a.bin", "hello")
			file, err := os.ReadFile(filepath.Join(root, "data/dir/a.bin"))
			if err != nil || string(file) != "hello" {
				t.Errorf("the object's file holds %q, %v", file, err)
			}
			s.cmd.Process.Signal(sig)
			err = s.cmd.Wait()
			if sig == syscall.SIGTERM && err != nil {
				t.Errorf("SIGTERM ended it with %v: %s", err, s.stderr)
			}
			again := start(t, root, "--bucket", "data")
			wantObject(t, again.client(), "dir/a.bin", "hello")
		})
	}
}

// TestCopies has the server copy an object by itself, whole and as a part of another one.
func TestCopies(t *testing.T) {
	s := start(t, t.TempDir(), "--bucket", "data", "--bucket", "checkpoints")
	c := s.client()
	put(t, c, "dir/a.bin", "hello")
	from, data := aws.String("data/dir/a.bin"), aws.String("data")
	if _, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: data, Key: aws.String("b"), CopySource: from}); err != nil {
		t.Fatalf("copy: %v", err)
	}
	wantObject(t, c, "b", "hello")
	if _, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String("checkpoints"), Key: aws.String("b"), CopySource: from}); err != nil {
		t.Errorf("copy to another bucket: %v", err)
	}
	up, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: data, Key: aws.String("c")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{Bucket: data, Key: aws.String("c"), UploadId: up.UploadId, PartNumber: aws.Int32(1), CopySource: from})
	if err != nil {
		t.Errorf("copy a part: %v", err)
	}
}

func TestOnlyTheGivenAddressIsBound(t *testing.T) {
	s := start(t, t.TempDir())
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.2", port))
	if err == nil {
		conn.Close()
		t.Error("it answers on 127.0.0.2, too")
	}
}

func TestStrangersAreRefused(t *testing.T) {
	s := start(t, t.TempDir(), "--bucket", "data")
	resp, err := http.Get("http://" + s.address + "/data?list-type=2")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("an unsigned list got %s", resp.Status)
	}
}

func TestStartRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	start(t, used)
	good := credentialsFile(t, 0o600)
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"port_taken", []string{"--root", t.TempDir(), "--listen", taken.Addr().String(), "--credentials", good}, 1, "address already in use"},
		{"root_is_a_file", []string{"--root", file, "--listen", "127.0.0.1:0", "--credentials", good}, 1, "not a directory"},
		{"root_in_use", []string{"--root", used, "--listen", "127.0.0.1:0", "--credentials", good}, 1, "another server uses it"},
		{"root_not_writable", []string{"--root", "/proc/self", "--listen", "127.0.0.1:0", "--credentials", good}, 1, "write below the root"},
		{"loose_credentials", []string{"--root", t.TempDir(), "--listen", "127.0.0.1:0", "--credentials", credentialsFile(t, 0o644)}, 1, "others can read it"},
		{"no_credentials", []string{"--root", t.TempDir(), "--listen", "127.0.0.1:0", "--credentials", file}, 1, "no access key"},
		{"bad_bucket", []string{"--root", t.TempDir(), "--listen", "127.0.0.1:0", "--credentials", good, "--bucket", "NO"}, 1, `bucket "NO"`},
		{"no_address", []string{"--root", t.TempDir(), "--listen", "localhost", "--credentials", good}, 2, "no IP address"},
		{"nothing", nil, 2, "are needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := command(t, append([]string{"s3"}, c.args...)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.code {
				t.Errorf("it ended with %v, want code %d", err, c.code)
			}
			if text := stderr.String(); !strings.Contains(text, c.want) || strings.Count(text, "\n") != 1 {
				t.Errorf("it said %q, want one line with %q", text, c.want)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	root := t.TempDir()
	tmp := filepath.Join(root, "data/.sgwtmp")
	old := time.Now().Add(-2 * staleUpload)
	for path := range sweepCases(root, tmp) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		dated := path
		if strings.Contains(path, "multipart") {
			dated = filepath.Dir(path)
		}
		if !strings.Contains(path, "new") {
			if err := os.Chtimes(dated, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := sweep(t.Context(), root, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	for path, keep := range sweepCases(root, tmp) {
		if _, err := os.Stat(path); (err == nil) != keep {
			t.Errorf("%s: kept %v, want %v", path, err == nil, keep)
		}
	}
}

// sweepCases are files and whether a sweep keeps them.
func sweepCases(root, tmp string) map[string]bool {
	return map[string]bool{
		filepath.Join(root, "data/dir/object"):          true,
		filepath.Join(root, "data/.hidden"):             true,
		filepath.Join(root, "data/dir/.a.b.sgwtmp.123"): false,
		filepath.Join(tmp, "cafe.456"):                  false,
		filepath.Join(tmp, "new.789"):                   true,
		filepath.Join(tmp, "multipart/sum/old/1"):       false,
		filepath.Join(tmp, "multipart/sum/new/1"):       true,
	}
}

// TestKilledWhileWriting kills the server in the middle of uploads: what was answered is whole, and so is all that is
// listed.
func TestKilledWhileWriting(t *testing.T) {
	root := t.TempDir()
	s := start(t, root, "--bucket", "data")
	body := strings.Repeat("0123456789abcdef", 16<<10)
	var mu sync.Mutex // guards answered
	var answered []string
	var wg sync.WaitGroup
	client := s.client()
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("w%d/o%d", w, i%5)
				_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("data"), Key: &key,
					Body: strings.NewReader(body), Metadata: map[string]string{"sha256": "abc"},
					ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme})
				if err != nil {
					return
				}
				mu.Lock()
				answered = append(answered, key)
				if len(answered) == 30 {
					s.cmd.Process.Kill()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	again := start(t, root).client()
	for _, key := range answered {
		wantObject(t, again, key, body)
	}
	list, err := again.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("data")})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		wantObject(t, again, *o.Key, body)
	}
}
