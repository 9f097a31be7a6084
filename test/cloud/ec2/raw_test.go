package ec2_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/test/cloud"
)

// read asks for all instances and counts the answer's bytes.
func read(b *testing.B, c *cloud.Cloud) int64 {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, c.URL, strings.NewReader("Action=DescribeInstances&MaxResults=1000"))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-2/ec2/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
