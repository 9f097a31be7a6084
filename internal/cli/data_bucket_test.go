package cli

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/place/placetest"
)

// withS3 is a place whose one cluster has buckets.
type withS3 struct {
	placetest.Moon
	at place.S3
}

func (p withS3) Known(string) ([]place.Known, error) { return []place.Known{{Name: "u"}}, nil }

func (p withS3) Open(home, name string, t place.Talk) (place.Cluster, error) {
	c, err := p.Moon.Open(home, name, t)
	if err != nil || name != "u" {
		return c, err
	}
	return clusterWithS3{c, p.at}, nil
}

type clusterWithS3 struct {
	place.Cluster
	at place.S3
}

func (c clusterWithS3) S3(context.Context) (place.S3, error) { return c.at, nil }

// outside is the environment of a user with credentials.
func outside(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", clusterVariable} {
		t.Setenv(name, "")
	}
	t.Setenv("MUSTER_HOME", t.TempDir())
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
}

// in has commands know one place.
func in(t *testing.T, p place.Place) {
	t.Helper()
	before := places
	places = []place.Place{p}
	t.Cleanup(func() { places = before })
}

func TestBucketOf(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	defer server.Close()
	own := place.S3{Endpoint: "http://10.99.0.1:9000", Region: "us-west-2", CredentialsFile: "credentials", Dial: noWay}
	for _, row := range []struct {
		name     string
		at       place.S3
		cluster  string
		variable string
		flags    bucketFlags
		endpoint string
		region   string
		says     string
	}{
		{"endpoint_and_region_of_the_bucket", place.S3{}, "", "", bucketFlags{endpoint: server.URL}, server.URL, "eu-west-1", "the buckets are those at " + server.URL},
		{"a_cluster_that_is_not_named", own, "", "", bucketFlags{endpoint: server.URL}, server.URL, "eu-west-1", "the buckets are those at " + server.URL},
		{"cluster_on_this_machine", own, "u", "", bucketFlags{}, "http://10.99.0.1:9000", "us-west-2", "cluster u, at http://10.99.0.1:9000"},
		{"cluster_of_the_environment", own, "", "u", bucketFlags{}, "http://10.99.0.1:9000", "us-west-2", "cluster u, at http://10.99.0.1:9000"},
		{"cluster_on_aws", place.S3{Region: "ap-south-1"}, "u", "", bucketFlags{endpoint: server.URL}, server.URL, "eu-west-1", "the buckets are those at " + server.URL},
	} {
		t.Run(row.name, func(t *testing.T) {
			outside(t)
			in(t, withS3{at: row.at})
			t.Setenv(clusterVariable, row.variable)
			var said bytes.Buffer
			got, err := (&app{err: &said, cluster: row.cluster}).bucketOf(t.Context(), row.flags, target{"data", "x"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Endpoint != row.endpoint || got.Region != row.region || got.Bucket != "data" || !strings.Contains(said.String(), row.says) {
				t.Errorf("got %q in %q of %q and said %q", got.Bucket, got.Region, got.Endpoint, said.String())
			}
		})
	}
}

// TestBucketFlags holds that commands can say where buckets are.
func TestBucketFlags(t *testing.T) {
	var f bucketFlags
	c := &cobra.Command{}
	f.add(c)
	err := c.ParseFlags([]string{"--endpoint-url", "http://x", "--region", "y", "--profile", "z"})
	if want := (bucketFlags{"http://x", "y", "z"}); err != nil || f != want {
		t.Errorf("got %+v, %v", f, err)
	}
}

// TestBucketPlace_region holds which region is asked first.
func TestBucketPlace_region(t *testing.T) {
	outside(t)
	in(t, withS3{at: place.S3{Region: "ap-south-1"}})
	t.Setenv("AWS_REGION", "eu-north-1")
	for _, row := range []struct {
		name, cluster string
		flags         bucketFlags
		want          string
	}{
		{"environment", "", bucketFlags{}, "eu-north-1"},
		{"cluster", "u", bucketFlags{}, "ap-south-1"},
		{"flag", "u", bucketFlags{region: "us-west-1"}, "us-west-1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := (&app{err: &bytes.Buffer{}, cluster: row.cluster}).bucketPlace(t.Context(), row.flags)
			if err != nil || got.Region != row.want || got.Endpoint != "" {
				t.Errorf("got %q at %q, %v", got.Region, got.Endpoint, err)
			}
		})
	}
}

func TestBucketPlace_refuses(t *testing.T) {
	own := place.S3{Endpoint: "http://10.99.0.1:9000", CredentialsFile: "credentials"}
	for _, row := range []struct {
		name, cluster string
		flags         bucketFlags
		env, value    string
		want          string
	}{
		{"own_place_and_another", "u", bucketFlags{endpoint: "http://x"}, "", "", "leave --endpoint-url, --region and --profile out"},
		{"no_such_cluster", "v", bucketFlags{}, "", "", "there is no cluster v"},
		{"no_url", "", bucketFlags{endpoint: "localhost:9000"}, "", "", "is no URL of an S3 server"},
		{"no_url_in_the_environment", "", bucketFlags{}, "AWS_ENDPOINT_URL_S3", "localhost", "is no URL of an S3 server"},
		{"no_credentials", "", bucketFlags{}, "AWS_ACCESS_KEY_ID", "", "there are no AWS credentials; run `aws configure sso` or `aws configure`, or set AWS_PROFILE; for a cluster's buckets say --cluster u"},
	} {
		t.Run(row.name, func(t *testing.T) {
			outside(t)
			in(t, withS3{at: own})
			if row.env != "" {
				t.Setenv(row.env, row.value)
			}
			_, err := (&app{err: &bytes.Buffer{}, cluster: row.cluster}).bucketPlace(t.Context(), row.flags)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func noWay(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("there is no way")
}
