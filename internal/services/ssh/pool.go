package ssh

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// KeyFile is a host key of sshd: its file's name in /etc/ssh, the file, and the line of
// its public half.
type KeyFile struct{ Name, Private, Public string }

// PoolKeys are the host keys of a pool of login nodes. Each of its machines makes the
// same ones of a secret that only root of the cluster's machines has, so that clients
// which log in by the pool's one name always find the same host key.
func PoolKeys(secret []byte, pool string) ([]KeyFile, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "muster host key ed25519 "+pool, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	modern := ed25519.NewKeyFromSeed(seed)
	old, err := curveKey(secret, pool)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(old)
	if err != nil {
		return nil, err
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	public, err := HostLine(private)
	if err != nil {
		return nil, err
	}
	return []KeyFile{
		{"ssh_host_ed25519_key", string(openSSH(modern)), line(keyType, blob(modern))},
		{"ssh_host_ecdsa_key", string(private), public},
	}, nil
}

// curveKey is for programs that do not know Ed25519, and for those that may not use it.
func curveKey(secret []byte, pool string) (*ecdsa.PrivateKey, error) {
	const bytes = 32
	for try := 0; ; try++ {
		number, err := hkdf.Key(sha256.New, secret, nil, fmt.Sprintf("muster host key ecdsa %s %d", pool, try), bytes)
		if err != nil {
			return nil, err
		}
		// One in four thousand million numbers is not a valid key.
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), number); err == nil || try > 8 {
			return key, err
		}
	}
}

// openSSH is a key as OpenSSH keeps it: older ones read Ed25519 in no other form.
// https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.key
func openSSH(key ed25519.PrivateKey) []byte {
	const block = 8
	const check = 0 // twice the same number: what tells a right passphrase, where there is one
	private := join(number(check), number(check), text(keyType), text(public(key)), text([]byte(key)), text(""))
	for i := byte(1); len(private)%block != 0; i++ {
		private = append(private, i)
	}
	whole := join([]byte("openssh-key-v1\x00"), text("none"), text("none"), text(""), number(1), text(blob(key)), text(private))
	return pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: whole})
}
