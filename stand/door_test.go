package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/net/dns/dnsmessage"
)

func TestIsS3(t *testing.T) {
	for name, want := range map[string]bool{
		"s3.amazonaws.com":                              true,
		"s3.us-east-1.amazonaws.com":                    true,
		"S3.US-EAST-1.amazonaws.com":                    true,
		"s3-us-west-2.amazonaws.com":                    true,
		"s3.dualstack.us-east-1.amazonaws.com":          true,
		"s3.cn-north-1.amazonaws.com.cn":                true,
		"bucket.s3.amazonaws.com":                       true,
		"bucket.s3.us-east-1.amazonaws.com":             true,
		"a.bucket.s3.us-east-1.amazonaws.com":           true,
		"bucket.s3.dualstack.us-east-1.amazonaws.com":   true,
		"bucket.s3-us-west-2.amazonaws.com":             true,
		"sts.us-east-1.amazonaws.com":                   false,
		"api.ecr.us-east-1.amazonaws.com":               false,
		"1.s3-control.us-east-1.amazonaws.com":          false,
		"s3-control.amazonaws.com":                      false,
		"s3.us-east-1.example.com":                      false,
		"amazonaws.com":                                 false,
		"":                                              false,
		"s3.sagemaker.us-east-1.amazonaws.com":          false,
		"bucket.s3express-use1-az4.us-east-1.amazonaws": false,
	} {
		if got := isS3(name); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
}

func TestAnswerName(t *testing.T) {
	here := netip.MustParseAddr("10.99.0.1")
	cases := map[string]struct {
		name    string
		kind    dnsmessage.Type
		code    dnsmessage.RCode
		answers int
	}{
		"of_s3":         {"bucket.s3.us-east-1.amazonaws.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		"of_a_service":  {"STS.amazonaws.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		"of_version_6":  {"sts.us-east-1.api.aws.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, 0},
		"of_others":     {"www.example.org.", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		"like_but_none": {"notamazonaws.com.", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{
				{Name: dnsmessage.MustNewName(c.name), Type: c.kind, Class: dnsmessage.ClassINET}}}
			packed, err := q.Pack()
			if err != nil {
				t.Fatal(err)
			}
			var got dnsmessage.Message
			if err := got.Unpack(answerName(packed, here)); err != nil {
				t.Fatal(err)
			}
			if got.ID != 7 || !got.Response || got.RCode != c.code || len(got.Answers) != c.answers || len(got.Questions) != 1 {
				t.Errorf("got %+v", got)
			}
			if c.answers == 1 && got.Answers[0].Body.(*dnsmessage.AResource).A != here.As4() {
				t.Errorf("it leads to %v", got.Answers[0].Body)
			}
		})
	}
}

func FuzzAnswerName(f *testing.F) {
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02s3\x09amazonaws\x03com\x00\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, question []byte) {
		answer := answerName(question, netip.MustParseAddr("10.99.0.1"))
		var got dnsmessage.Message
		if answer != nil && (got.Unpack(answer) != nil || !got.Response) {
			t.Errorf("answered with %x", answer)
		}
	})
}

func TestAnswerElsewhere(t *testing.T) {
	cases := map[string]struct {
		host   string
		header http.Header
		body   string
		kind   string
		words  []string
	}{
		"json":      {"api.ecr.us-east-1.amazonaws.com", http.Header{"X-Amz-Target": {"AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"}, "Authorization": {signedFor("ecr")}}, "{}", "application/x-amz-json-1.1", []string{`{"__type":"NotInARehearsal","message":"ecr is not in a rehearsal: `, "registry of its own"}},
		"rest":      {"lambda.us-east-1.amazonaws.com", nil, "", "application/x-amz-json-1.1", []string{`"message":"lambda is not`}},
		"query":     {"iam.amazonaws.com", http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}, "Action=ListUsers", "text/xml", []string{"<ErrorResponse><Error><Type>Sender</Type><Code>NotInARehearsal</Code><Message>iam is not", "<RequestId>"}},
		"ec2":       {"ec2.us-east-1.amazonaws.com", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "Action=DescribeInstances", "text/xml", []string{"<Response><Errors><Error><Code>NotInARehearsal</Code>", "<RequestID>"}},
		"cbor":      {"monitoring.us-east-1.amazonaws.com", http.Header{"Smithy-Protocol": {"rpc-v2-cbor"}}, "", "application/cbor", []string{"\xa2\x79\x00\x06__type\x79\x00\x0fNotInARehearsal\x79\x00\x07message"}},
		"rest_xml":  {"route53.amazonaws.com", nil, "", "text/xml", []string{"<Message>route53 is not"}},
		"other_sts": {"sts.us-east-1.amazonaws.com", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "Action=AssumeRole", "text/xml", []string{"<Message>sts is not"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "https://"+c.host+"/", strings.NewReader(c.body))
			r.Header = c.header.Clone()
			w := httptest.NewRecorder()
			answerElsewhere(w, r)
			if w.Code != http.StatusBadRequest || w.Header().Get("Content-Type") != c.kind {
				t.Errorf("got %d %v", w.Code, w.Header())
			}
			for _, word := range c.words {
				if !strings.Contains(w.Body.String(), word) {
					t.Errorf("%q is not in %q", word, w.Body)
				}
			}
		})
	}
}

func signedFor(service string) string {
	return "AWS4-HMAC-SHA256 Credential=AKID/20260102/us-east-1/" + service + "/aws4_request, SignedHeaders=host, Signature=0"
}

// authorityFor writes a file with an authority.
func authorityFor(t *testing.T, mode os.FileMode) (path string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test's"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, want, want, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	path = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, append(certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), mode); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return path, pool
}

// freeDoor is an address at which nobody listens, by TCP for TLS and by UDP for names.
func freeDoor(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// TestDoor reaches S3 and a service that is not there under their names, with a client that trusts the authority alone.
func TestDoor(t *testing.T) {
	authority, pool := authorityFor(t, 0o600)
	at := freeDoor(t)
	s := start(t, t.TempDir(), "--bucket", "data", "--tls", at.String(), "--names", "0", "--authority", authority)
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	dialer := &net.Dialer{}
	web.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, at.String())
	}
	for _, path := range []bool{true, false} {
		c := s3.NewFromConfig(aws.Config{Region: "us-east-1", HTTPClient: web, Credentials: s.client().Options().Credentials},
			func(o *s3.Options) { o.UsePathStyle = path })
		put(t, c, "a b/c+d é%25.txt", "by name")
		wantObject(t, c, "a b/c+d é%25.txt", "by name")
		if path {
			continue
		}
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
		put(t, c, "big", string(big))
		wantObject(t, c, "big", string(big))
	}
	resp, err := web.Post("https://sts.us-east-1.amazonaws.com/", "application/x-www-form-urlencoded", strings.NewReader("Action=GetCallerIdentity&Version=2011-06-15"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "<Account>000000000000</Account>") {
		t.Errorf("sts says %s, %v", text, err)
	}
	if _, err := web.Get("https://www.example.org/"); err == nil {
		t.Error("it has a certificate for what is not AWS's")
	}
}

func TestDoor_refusals(t *testing.T) {
	open, _ := authorityFor(t, 0o644)
	for name, args := range map[string][]string{
		"others_read_its_key": {"--tls", freeDoor(t).String(), "--names", "0", "--authority", open},
		"no_authority":        {"--tls", freeDoor(t).String()},
		"none_there":          {"--tls", freeDoor(t).String(), "--authority", filepath.Join(t.TempDir(), "none")},
		"no_address":          {"--tls", "here", "--authority", open},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, append([]string{"s3", "--root", t.TempDir(), "--listen", "127.0.0.1:0", "--credentials", credentialsFile(t, 0o600)}, args...)...)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.HasPrefix(string(out), "muster-stand: s3: ") {
				t.Errorf("it served: %s", out)
			}
		})
	}
}
