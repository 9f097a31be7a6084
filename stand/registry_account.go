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

// account is one who may use the registry.
type account struct {
	User, Password string
}

// accounts are the owner, who may do all, and one who may only read; that one is nobody
// if there is none.
type accounts struct{ owner, reader account }

// readAccounts reads the accounts. It refuses an owner's file that others can read.
func readAccounts(o registryOptions) (all accounts, err error) {
	info, err := os.Stat(o.Credentials)
	if err != nil {
		return all, fmt.Errorf("read credentials: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return all, fmt.Errorf("read credentials: %s has mode %04o: others can read it, make it 0600", o.Credentials, info.Mode().Perm())
	}
	if all.owner, err = readAccount(o.Credentials); err == nil && o.Reader != "" {
		all.reader, err = readAccount(o.Reader)
	}
	return all, err
}

// readAccount reads a file as Docker's clients keep it, with one account.
func readAccount(path string) (account, error) {
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

// is tells whether somebody is the one of the account.
func (a account) is(user, password string) bool {
	want, have := sha256.Sum256([]byte(a.User+":"+a.Password)), sha256.Sum256([]byte(user+":"+password))
	return a.User != "" && subtle.ConstantTimeCompare(have[:], want[:]) == 1
}

// guard lets the owner pass, the reader where nothing is changed, and nobody else.
func (a accounts) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if a.owner.is(user, password) || reads && a.reader.is(user, password) {
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
