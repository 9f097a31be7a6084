// Package ssh is a cluster's SSH: the host keys of a pool of login nodes on AWS, and of a
// local cluster the key by which its machines are known, the
// authority by which its users are, and an agent that vouches for each user as the kernel
// names him. It promises that no user is taken for another, and that users need no keys of
// their own. SSH itself is OpenSSH.
package ssh

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	keyType  = "ssh-ed25519"
	certType = "ssh-ed25519-cert-v01@openssh.com"
	hostType = "ecdsa-sha2-nistp256"
)

// HostKey is a new key by which all machines of a cluster are known, in a form that
// OpenSSH reads.
func HostKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), err
}

// HostLine is the public half of a HostKey as OpenSSH writes it.
func HostLine(private []byte) (string, error) {
	block, _ := pem.Decode(private)
	if block == nil {
		return "", errors.New("the key of the cluster's machines is not in PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read the key of the cluster's machines: %w", err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return "", fmt.Errorf("read the key of the cluster's machines: %w", err)
	}
	return line(hostType, join(text(hostType), text("nistp256"), text(point))), nil
}

func line(kind string, blob []byte) string {
	return kind + " " + base64.StdEncoding.EncodeToString(blob)
}

// Authority signs the certificates of users.
type Authority struct{ key ed25519.PrivateKey }

// NewAuthority is a new one as ReadAuthority takes it.
func NewAuthority() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// ReadAuthority reads what NewAuthority made.
func ReadAuthority(private []byte) (Authority, error) {
	block, _ := pem.Decode(private)
	if block == nil {
		return Authority{}, errors.New("the cluster's authority for SSH is not in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Authority{}, fmt.Errorf("read the cluster's authority for SSH: %w", err)
	}
	own, ok := key.(ed25519.PrivateKey)
	if !ok {
		return Authority{}, fmt.Errorf("the cluster's authority for SSH is a %T", key)
	}
	return Authority{own}, nil
}

func public(key ed25519.PrivateKey) []byte { return key.Public().(ed25519.PublicKey) }

func blob(key ed25519.PrivateKey) []byte { return join(text(keyType), text(public(key))) }

func sign(key ed25519.PrivateKey, data []byte) []byte {
	return join(text(keyType), text(ed25519.Sign(key, data)))
}

// Line is the authority's public half as OpenSSH writes it.
func (a Authority) Line() string { return line(keyType, blob(a.key)) }

// validFor is how long a certificate holds: it is made anew for each connection.
const validFor = 5 * time.Minute

// permits are the rights that a certificate gives, sorted by name as its format demands.
var permits = []string{"permit-agent-forwarding", "permit-port-forwarding", "permit-pty", "permit-user-rc"}

// certificate says that the holder of a key is a user with these names
// (PROTOCOL.certkeys of OpenSSH).
func (a Authority) certificate(key ed25519.PrivateKey, names []string, now time.Time) []byte {
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // it never fails
	var principals, extensions []byte
	for _, n := range names {
		principals = append(principals, text(n)...)
	}
	for _, p := range permits {
		extensions = append(extensions, join(text(p), text(""))...)
	}
	const ofUser = 1
	body := join(text(certType), text(nonce), text(public(key)), seconds(0), number(ofUser), text(strings.Join(names, ",")), text(principals),
		seconds(now.Add(-validFor).Unix()), seconds(now.Add(validFor).Unix()), text(""), text(extensions), text(""), text(blob(a.key)))
	return join(body, text(sign(a.key, body)))
}

func seconds(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
