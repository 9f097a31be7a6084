package local

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
)

// authorityFile has the certificate and the key of the cluster's own authority, by which
// its S3 server has the names of AWS.
const authorityFile = "etc/s3/authority.pem"

// authorityName is its name, in lower case as trustName needs it.
const authorityName = "muster's cluster on this machine"

// authorityYears is longer than a cluster lives.
const authorityYears = 20

// authority is the cluster's own, which is made once.
func authority(l *nodes.Layout, now time.Time) (secret, certificate string, err error) {
	have, err := readOwn(l.Path(authorityFile))
	if errors.Is(err, fs.ErrNotExist) {
		have, err = newAuthority(now)
	}
	if err != nil {
		return "", "", fmt.Errorf("the cluster's own authority: %w", err)
	}
	block, _ := pem.Decode(have)
	if block == nil {
		return "", "", fmt.Errorf("%s has no certificate", l.Path(authorityFile))
	}
	return string(have), string(pem.EncodeToMemory(block)), nil
}

// newAuthority makes an authority that may sign for names of AWS alone: a stolen key is
// good for no other name on machines that trust it.
func newAuthority(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	all := []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	want := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: authorityName},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{"amazonaws.com", "amazonaws.com.cn", "api.aws"}, ExcludedIPRanges: all,
	}
	der, err := x509.CreateCertificate(rand.Reader, want, want, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = errors.Join(pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.Encode(&out, &pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return out.Bytes(), err
}

// Where Debian's programs look for authorities: in one file of all, or for the name of
// one.
const (
	trustDir  = "/etc/ssl/certs"
	trustFile = trustDir + "/ca-certificates.crt"
)

// trustName is the file in which OpenSSL looks for the authority: the first bytes of the
// SHA-1 of its name with all in lower case, X509_NAME_hash(3).
func trustName() string {
	value := asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(strings.ToLower(authorityName))}
	part := struct {
		Type  asn1.ObjectIdentifier
		Value asn1.RawValue
	}{asn1.ObjectIdentifier{2, 5, 4, 3}, value}
	set, err := asn1.MarshalWithParams([]any{part}, "set")
	if err != nil {
		panic(err) // of constants
	}
	sum := sha1.Sum(set)
	return fmt.Sprintf("%08x.0", binary.LittleEndian.Uint32(sum[:]))
}

// trusted are the authorities of this machine and the cluster's own.
func trusted(own string) (string, error) {
	host, err := os.ReadFile(trustFile)
	if errors.Is(err, fs.ErrNotExist) {
		return own, nil
	}
	return strings.TrimSuffix(string(host), "\n") + "\n" + own, err
}

// nameMounts lead names of AWS to the cluster's S3 server, which machines trust there.
func nameMounts(l *nodes.Layout) []nodes.Mount {
	return []nodes.Mount{
		{Source: l.Path("etc", "resolv.conf"), Target: "/etc/resolv.conf", ReadOnly: true},
		{Source: l.Path("etc", "ca-certificates.crt"), Target: trustFile, ReadOnly: true},
		{Source: l.Path("etc", "aws", "ca.pem"), Target: path.Join(trustDir, trustName()), ReadOnly: true},
	}
}

// nameFiles are what nameMounts show.
func (c config) nameFiles() ([]file, error) {
	secret, own, err := authority(c.layout, time.Now())
	if err != nil {
		return nil, err
	}
	all, err := trusted(own)
	if err != nil {
		return nil, fmt.Errorf("look whom this machine trusts: %w", err)
	}
	return []file{
		{path: authorityFile, text: secret, mode: 0o600, once: true},
		{path: "etc/aws/ca.pem", text: own, mode: 0o644, inPlace: true},
		{path: "etc/aws/config", text: awsConfig(c.record.Region), mode: 0o644},
		{path: "etc/ca-certificates.crt", text: all, mode: 0o644, inPlace: true},
		{path: "etc/resolv.conf", text: "nameserver " + nodes.HeadAddress.String() + "\n", mode: 0o644, inPlace: true},
	}, nil
}

// awsConfig is the configuration of AWS programs. Those that know services go to S3
// without TLS, which costs less; all others by its names.
func awsConfig(region string) string {
	return fmt.Sprintf(`[default]
region = %s
ca_bundle = %s/ca.pem
services = cluster
s3 =
  addressing_style = path

[services cluster]
s3 =
  endpoint_url = %s
`, region, services.AWSDir, s3Endpoint())
}
