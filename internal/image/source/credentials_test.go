package source_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/source"
)

// authFile writes a file as docker login does.
func authFile(t *testing.T, host, user, password string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	write(t, path, fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth))
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// guarded is a registry that wants me with the password secret.
func guarded(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 100, 1), "v1")
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		if user, password, _ := r.BasicAuth(); (user != "me" && user != "AWS") || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`, http.StatusUnauthorized)
			return
		}
		real.ServeHTTP(w, r)
	})
	return p
}

func TestCredentials(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	env := os.Getenv
	for _, test := range []struct {
		name string
		user string
		set  func(t *testing.T, host string)
		want string
	}{
		{"none", "", func(*testing.T, string) {}, "does not let us read it (who are you?); is the name right? Log in with `docker login"},
		{"docker", "", func(t *testing.T, host string) {
			write(t, env("DOCKER_CONFIG")+"/config.json", `{"auths":{"`+host+`":{"auth":"`+auth+`"}}}`)
		}, ""},
		{"docker_helper", "", func(t *testing.T, host string) {
			bin := t.TempDir()
			write(t, bin+"/docker-credential-test", "#!/bin/sh\ncat >/dev/null\necho '{\"Username\":\"me\",\"Secret\":\"secret\"}'\n")
			t.Setenv("PATH", bin+":"+env("PATH"))
			write(t, env("DOCKER_CONFIG")+"/config.json", `{"credHelpers":{"`+host+`":"test"}}`)
		}, ""},
		{"podman_beside_docker", "", func(t *testing.T, host string) {
			write(t, env("DOCKER_CONFIG")+"/config.json", `{"auths":{"other.example":{"auth":"`+auth+`"}}}`)
			write(t, env("XDG_RUNTIME_DIR")+"/containers/auth.json", `{"auths":{"`+host+`/a":{"auth":"`+auth+`"}}}`)
		}, ""},
		{"podman_of_another_path", "", func(t *testing.T, host string) {
			write(t, env("DOCKER_CONFIG")+"/config.json", `{}`)
			write(t, env("XDG_RUNTIME_DIR")+"/containers/auth.json", `{"auths":{"`+host+`/c":{"auth":"`+auth+`"}}}`)
		}, "does not let us read it"},
		{"enroot", "", func(t *testing.T, host string) {
			write(t, env("ENROOT_CONFIG_PATH")+"/.credentials", "# mine\nmachine 127.0.0.1 login me password secret\n")
		}, ""},
		{"enroot_user_of_the_uri", "me", func(t *testing.T, host string) {
			write(t, env("ENROOT_CONFIG_PATH")+"/.credentials", "machine 127.0.0.1 login you password other\nmachine 127.0.0.1 login me password secret\n")
		}, ""},
		{"another_user", "you", func(t *testing.T, host string) {
			write(t, env("ENROOT_CONFIG_PATH")+"/.credentials", "machine 127.0.0.1 login me password secret\n")
		}, "there is no password for you"},
		{"enroot_command", "", func(t *testing.T, host string) {
			write(t, env("ENROOT_CONFIG_PATH")+"/.credentials", "\nmachine 127.0.0.1 login me password $(touch "+env("HOME")+"/ran)\n")
		}, "/.credentials:2: the password is a command, and muster runs none"},
		{"enroot_variable", "", func(t *testing.T, host string) {
			write(t, env("ENROOT_CONFIG_PATH")+"/.credentials", "machine 127.0.0.1 login me password $SECRET\n")
		}, "/.credentials:1: the password is a command"},
		{"damaged_file", "", func(t *testing.T, host string) {
			write(t, env("DOCKER_CONFIG")+"/config.json", `{`)
		}, "look for credentials for 127.0.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := guarded(t)
			test.set(t, p.host)
			image := "docker://" + p.host + "/a/b:v1"
			if test.user != "" {
				image = "docker://" + test.user + "@" + p.host + "/a/b:v1"
			}
			ref, err := source.Parse(image)
			if err != nil {
				t.Fatal(err)
			}
			img, err := source.Open(t.Context(), ref, quick)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a password: %v", err)
			}
			if err == nil {
				img.Close()
			}
			if _, err := os.Stat(env("HOME") + "/ran"); err == nil {
				t.Error("a command of the file was run")
			}
		})
	}
}

// TestECR has AWS's answer come from a server of ours.
func TestECR(t *testing.T) {
	p := guarded(t)
	var asked atomic.Int32
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-2/ecr/") {
			t.Errorf("signed as %s", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		json.NewEncoder(w).Encode(map[string]any{"authorizationData": []any{map[string]any{
			"authorizationToken": base64.StdEncoding.EncodeToString([]byte("AWS:secret")),
			"expiresAt":          time.Now().Add(12 * time.Hour).Unix(),
		}}})
	}))
	t.Cleanup(aws.Close)
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_ECR": aws.URL, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "x",
		"AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "",
	} {
		t.Setenv(k, v)
	}
	write(t, os.Getenv("ENROOT_CONFIG_PATH")+"/.credentials", "machine 127.0.0.1 login AWS password $(aws ecr get-login-password --region eu-west-2)\n")
	img, err := p.open(t, "a/b:v1", quick)
	if err != nil {
		t.Fatal(err)
	}
	check(t, img)
	if asked.Load() != 1 {
		t.Errorf("AWS was asked %d times, want once", asked.Load())
	}
}

// TestTokens has a registry whose tokens end after a few requests.
func TestTokens(t *testing.T) {
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 100_000, 8), "v1")
	var token, left atomic.Int64
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		if r.URL.Path == "/token" {
			if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" || r.URL.Query().Get("scope") != "repository:a/b:pull" {
				http.Error(w, "{}", http.StatusUnauthorized)
				return
			}
			left.Store(3)
			fmt.Fprintf(w, `{"token":"t%d"}`, token.Add(1))
			return
		}
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer t%d", token.Load()) || token.Load() == 0 || left.Add(-1) < 0 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+p.URL+`/token",service="x",scope="repository:a/b:pull"`)
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		real.ServeHTTP(w, r)
	})
	o := quick
	o.AuthFiles = []string{authFile(t, p.host, "me", "secret")}
	img, err := p.open(t, "a/b:v1", o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, img)
	if token.Load() < 3 {
		t.Errorf("%d tokens, want at least 3", token.Load())
	}
}

func TestUnknownCertificate(t *testing.T) {
	alone(t)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	ref, err := source.Parse(strings.TrimPrefix(s.URL, "https://") + "/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Open(t.Context(), ref, quick); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want that the certificate is unknown", err)
	}
}

// TestTokensAtOnce has many layers read while tokens end.
func TestTokensAtOnce(t *testing.T) {
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 1000, 16), "v1")
	var mu sync.Mutex
	left := map[string]int{} // how many requests each token is good for
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		mu.Lock()
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		left[given]--
		ended := left[given] < 0
		if r.URL.Path == "/token" {
			name := fmt.Sprintf("t%d", len(left))
			left[name] = 1000
			if len(left) == 2 { // beside no token: a second one that ended might do so before all have tried it
				left[name] = 25
			}
			fmt.Fprintf(w, `{"token":%q}`, name)
		}
		mu.Unlock()
		switch {
		case r.URL.Path == "/token":
		case ended:
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+p.URL+`/token",service="x",scope="repository:a/b:pull"`)
			http.Error(w, "{}", http.StatusUnauthorized)
		default:
			real.ServeHTTP(w, r)
		}
	})
	img, err := p.open(t, "a/b:v1", quick)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	atOnce := make(chan struct{}, 8)
	for range 5 {
		for _, l := range img.Layers {
			atOnce <- struct{}{}
			group.Go(func() {
				defer func() { <-atOnce }()
				if got, err := sum(t.Context(), l); err != nil || got != l.Digest {
					t.Errorf("layer %s: got %s, %v", l.Digest, got, err)
				}
			})
		}
	}
	group.Wait()
	if len(left) < 3 {
		t.Errorf("no token ended: %v", left)
	}
}
