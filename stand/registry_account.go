package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// account is the one who may use the registry.
type account struct {
	User, Password string
}

// readAccount reads a file as Docker's clients keep it, with one account. It refuses a file that others can read.
func readAccount(path string) (account, error) {
	info, err := os.Stat(path)
	if err != nil {
		return account{}, fmt.Errorf("read credentials: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return account{}, fmt.Errorf("read credentials: %s has mode %04o: others can read it, make it 0600", path, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return account{}, fmt.Errorf("read credentials: %w", err)
	}
	var file struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return account{}, fmt.Errorf("read credentials: %s: %w", path, err)
	}
	for _, entry := range file.Auths {
		plain, err := base64.StdEncoding.DecodeString(entry.Auth)
		user, password, found := strings.Cut(string(plain), ":")
		if err == nil && found && user != "" && password != "" && len(file.Auths) == 1 {
			return account{user, password}, nil
		}
	}
	return account{}, fmt.Errorf("read credentials: %s has not one registry with user and password", path)
}

// guard lets the account pass, and nobody else.
func (a account) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(a.User + ":" + a.Password))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		have := sha256.Sum256([]byte(user + ":" + password))
		if subtle.ConstantTimeCompare(have[:], want[:]) == 1 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="muster"`)
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintln(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
	})
}
