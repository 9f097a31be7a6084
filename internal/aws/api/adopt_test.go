package api

import (
	"slices"
	"testing"
)

func TestKeysOnAConsole(t *testing.T) {
	const begin, end = "-----BEGIN SSH HOST KEY KEYS-----\n", "-----END SSH HOST KEY KEYS-----\n"
	tests := map[string]struct {
		console string
		want    []string
	}{
		"plain":   {begin + "ssh-ed25519 AAAA root@ip\necdsa-sha2-nistp256 BBBB root@ip\n" + end, []string{"ssh-ed25519 AAAA", "ecdsa-sha2-nistp256 BBBB"}},
		"stamped": {"[   12.3] cloud-init[99]: " + begin + "[   12.3] cloud-init[99]: ssh-rsa CCCC\n" + end, []string{"ssh-rsa CCCC"}},
		"cut_off": {begin + "ssh-ed25519 AAAA root@ip\n", nil},
		"no_key":  {begin + "ssh-ed25519\n" + end, nil},
		"nothing": {"login: ", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := keysOn([]byte(tt.console)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
