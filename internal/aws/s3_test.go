package aws_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/place"
)

// TestS3 holds that a cluster's buckets are AWS's own, in its region, by the caller's credentials: none is asked for here.
func TestS3(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "aws.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "aws.d", "train.json"), []byte(`{"name": "train", "region": "ap-southeast-3"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := aws.Place{}.Open(home, "train", nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.S3(t.Context())
	if err != nil || at.Region != "ap-southeast-3" || at.Endpoint != "" || at.CredentialsFile != "" || at.Dial != nil {
		t.Errorf("got %+v, %v; want %+v", at, err, place.S3{Region: "ap-southeast-3"})
	}
}
