package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"sync"
)

// authority makes the door's certificates, each when somebody asks for its name: buckets come and go.
type authority struct {
	cert *x509.Certificate
	sign crypto.Signer
	key  *ecdsa.PrivateKey // of all certificates that it makes

	mu     sync.Mutex // guards issued
	issued map[string]*tls.Certificate
}

// mostIssued is how many certificates are kept: more than a cluster has buckets.
const mostIssued = 1000

// readAuthority reads a certificate and its key from a PEM file that only its owner can read.
func readAuthority(path string) (*authority, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read the authority: %s has mode %04o: others can read it, make it 0600", path, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	a := &authority{issued: map[string]*tls.Certificate{}}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if err := a.take(block); err != nil {
			return nil, fmt.Errorf("read the authority %s: %w", path, err)
		}
	}
	if a.cert == nil || a.sign == nil {
		return nil, fmt.Errorf("read the authority: %s has no certificate with its key", path)
	}
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return a, err
}

func (a *authority) take(block *pem.Block) (err error) {
	if block.Type == "CERTIFICATE" {
		a.cert, err = x509.ParseCertificate(block.Bytes)
		return err
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return err
	}
	sign, ok := key.(crypto.Signer)
	if !ok {
		return errors.New("the key cannot sign")
	}
	a.sign = sign
	return nil
}

// certificate is the one for the name that a client asks for.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(hello.ServerName)
	if !ofAWS(name) {
		return nil, fmt.Errorf("%q is no name of AWS", hello.ServerName)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if have, ok := a.issued[name]; ok {
		return have, nil
	}
	made, err := a.issue(name)
	if err != nil {
		return nil, err
	}
	if len(a.issued) >= mostIssued {
		clear(a.issued)
	}
	a.issued[name] = made
	return made, nil
}

func (a *authority) issue(name string) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	want := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"muster"}}, DNSNames: []string{name},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, want, a.cert, a.key.Public(), a.sign)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.key}, nil
}
