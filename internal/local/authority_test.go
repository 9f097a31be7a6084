package local

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// TestAuthority_signs_names_of_AWS_alone: nobody who gets hold of its key can pretend to be anything else.
func TestAuthority_signs_names_of_AWS_alone(t *testing.T) {
	now := time.Now()
	secret, own, err := authority(&nodes.Layout{Dir: t.TempDir()}, now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(secret), []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(own)) {
		t.Fatalf("no certificate: %s", own)
	}
	for name, want := range map[string]bool{
		"s3.us-east-1.amazonaws.com":        true,
		"bucket.s3.us-east-1.amazonaws.com": true,
		"sts.amazonaws.com":                 true,
		"www.example.org":                   false,
		"amazonaws.com.example.org":         false,
	} {
		leaf := leafFor(t, pair, name, now)
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: now}); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func leafFor(t *testing.T, ca tls.Certificate, name string, now time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, want, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// TestTrustName compares with `openssl x509 -noout -hash`.
func TestTrustName(t *testing.T) {
	if got := trustName(); got != "4e33d3b0.0" {
		t.Errorf("got %s", got)
	}
}
