package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// registryServer runs a registry and returns when it answers.
func registryServer(t *testing.T, root string) *server {
	t.Helper()
	addressFile := filepath.Join(t.TempDir(), "address")
	s := &server{stderr: &bytes.Buffer{}}
	s.cmd = command(t, "registry", "--root", root, "--listen", "127.0.0.1:0", "--address-file", addressFile, "--credentials", accountFile(t, 0o600), "--reader", readerFile(t))
	s.cmd.Stderr = s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	s.address = waitFor(t, addressFile)
	return s
}

func accountFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "registry.json")
	// muster:s3cr3t
	if err := os.WriteFile(path, []byte(`{"auths":{"10.99.0.1:5000":{"auth":"bXVzdGVyOnMzY3IzdA=="}}}`), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// readerFile is the account reader:open.
func readerFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reader.json")
	if err := os.WriteFile(path, []byte(`{"auths":{"10.99.0.1:5000":{"auth":"cmVhZGVyOm9wZW4="}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask sends a request of the account's and returns the status, the answer and its Location.
func (s *server) ask(t *testing.T, method, path, contentType, body string) (status int, answer, location string) {
	t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = "http://" + s.address + path
	}
	r, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("muster", "s3cr3t")
	r.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header.Get("Location")
}

func sumOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// pushBlob uploads a blob of a repository.
func (s *server) pushBlob(t *testing.T, repository, text string) {
	t.Helper()
	status, answer, at := s.ask(t, "POST", "/v2/"+repository+"/blobs/uploads/", "", "")
	if status != http.StatusAccepted {
		t.Fatalf("begin an upload: %d %s", status, answer)
	}
	status, answer, _ = s.ask(t, "PUT", at+"&digest="+sumOf(text), "application/octet-stream", text)
	if status != http.StatusCreated {
		t.Fatalf("upload: %d %s", status, answer)
	}
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// pushImage uploads an image of one layer and returns the manifest's digest.
func (s *server) pushImage(t *testing.T, repository, tag, layer string) string {
	t.Helper()
	const config = `{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`
	s.pushBlob(t, repository, config)
	s.pushBlob(t, repository, layer)
	blob := func(kind, text string) map[string]any {
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": sumOf(text), "size": len(text)}
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": blob("config.v1+json", config), "layers": []any{blob("layer.v1.tar", layer)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer, _ := s.ask(t, "PUT", "/v2/"+repository+"/manifests/"+tag, manifestType, string(manifest)); status != http.StatusCreated {
		t.Fatalf("push: %d %s", status, answer)
	}
	return sumOf(string(manifest))
}

func (s *server) stopped(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, s.stderr)
	}
}

// TestRegistry: what was pushed is there after a kill; what was deleted goes with the next start.
func TestRegistry(t *testing.T) {
	root := t.TempDir()
	s := registryServer(t, root)
	digest := s.pushImage(t, "team/train", "v1", "a layer")
	s.pushImage(t, "team/train", "v2", "another layer")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()

	s = registryServer(t, root)
	if status, text, _ := s.ask(t, "GET", "/v2/team/train/blobs/"+sumOf("a layer"), "", ""); status != http.StatusOK || text != "a layer" {
		t.Errorf("the layer: %d %q", status, text)
	}
	if status, text, _ := s.ask(t, "GET", "/v2/team/train/tags/list", "", ""); status != http.StatusOK || !strings.Contains(text, `"v1"`) {
		t.Errorf("the tags: %d %q", status, text)
	}
	if status, text, _ := s.ask(t, "DELETE", "/v2/team/train/manifests/"+digest, "", ""); status != http.StatusAccepted {
		t.Errorf("delete: %d %q", status, text)
	}
	s.stopped(t)
	if lines := strings.Count(s.stderr.String(), "\n"); lines != 1 {
		t.Errorf("it says:\n%s", s.stderr)
	}

	s = registryServer(t, root)
	for layer, want := range map[string]int{"a layer": http.StatusNotFound, "another layer": http.StatusOK} {
		if status, text, _ := s.ask(t, "GET", "/v2/team/train/blobs/"+sumOf(layer), "", ""); status != want {
			t.Errorf("%s: %d %q, want %d", layer, status, text, want)
		}
	}
	s.stopped(t)
}

func TestRegistry_refuses_strangers(t *testing.T) {
	s := registryServer(t, t.TempDir())
	for _, password := range []string{"", "s3cr3", "s3cr3tt"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.address+"/v2/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("muster", password)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("password %q: %s", password, resp.Status)
		}
	}
}

// TestRegistry_reader: the account that all know reads and changes nothing.
func TestRegistry_reader(t *testing.T) {
	s := registryServer(t, t.TempDir())
	s.pushImage(t, "team/train", "v1", "a layer")
	for method, want := range map[string]int{"GET": http.StatusOK, "HEAD": http.StatusOK, "DELETE": http.StatusUnauthorized, "PUT": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+"/v2/team/train/blobs/"+sumOf("a layer"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("reader", "open")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", method, resp.Status, want)
		}
	}
}

func TestReadAccount(t *testing.T) {
	if _, err := readAccounts(registryOptions{Credentials: accountFile(t, 0o644)}); err == nil || !strings.Contains(err.Error(), "others can read it") {
		t.Errorf("a file that others can read: %v", err)
	}
	for _, text := range []string{"", "{}", `{"auths":{"a":{"auth":"%"}}}`, `{"auths":{"a":{"auth":"bXVzdGVy"}}}`} {
		path := filepath.Join(t.TempDir(), "registry.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := readAccount(path); err == nil {
			t.Errorf("%q: got %+v", text, a)
		}
	}
	if a, err := readAccount(accountFile(t, 0o600)); err != nil || a != (account{"muster", "s3cr3t"}) {
		t.Errorf("got %+v, %v", a, err)
	}
}
