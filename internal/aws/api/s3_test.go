package api_test

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/internal/aws/api"
)

// bare is an environment in which nothing says where AWS is and who asks.
func bare(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoProfiles = "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = x\n[other]\naws_access_key_id = OTHER\naws_secret_access_key = y\n"

func TestOpenS3(t *testing.T) {
	settings := "[default]\nregion = eu-west-1\nservices = cluster\n[services cluster]\ns3 =\n  endpoint_url = http://cluster:9000\n"
	for _, row := range []struct {
		name                 string
		env                  map[string]string
		config               string
		o                    api.S3Options
		key, region, address string
	}{
		{"plain", nil, "", api.S3Options{}, "DEFAULT", "us-east-1", ""},
		{"region_of_the_environment", map[string]string{"AWS_REGION": "eu-north-1"}, "", api.S3Options{}, "DEFAULT", "eu-north-1", ""},
		{"region_of_the_flag", map[string]string{"AWS_REGION": "eu-north-1"}, "", api.S3Options{Region: "ap-south-1"}, "DEFAULT", "ap-south-1", ""},
		{"profile_of_the_flag", map[string]string{"AWS_PROFILE": "default"}, "", api.S3Options{Profile: "other"}, "OTHER", "us-east-1", ""},
		{"profile_of_the_environment", map[string]string{"AWS_PROFILE": "other"}, "", api.S3Options{}, "OTHER", "us-east-1", ""},
		{"keys_of_the_environment", map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "z"}, "", api.S3Options{}, "ENV", "us-east-1", ""},
		{"endpoint_for_all", map[string]string{"AWS_ENDPOINT_URL": "http://all"}, "", api.S3Options{}, "DEFAULT", "us-east-1", "http://all"},
		{"endpoint_for_s3", map[string]string{"AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3"}, "", api.S3Options{}, "DEFAULT", "us-east-1", "http://s3"},
		{"endpoint_of_the_flag", map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3"}, "", api.S3Options{Endpoint: "http://flag"}, "DEFAULT", "us-east-1", "http://flag"},
		{"as_on_a_cluster", nil, settings, api.S3Options{}, "DEFAULT", "eu-west-1", "http://cluster:9000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bare(t)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write(t, twoProfiles))
			t.Setenv("AWS_CONFIG_FILE", write(t, row.config))
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			got, err := api.OpenS3(t.Context(), row.o)
			if err != nil {
				t.Fatal(err)
			}
			keys, err := got.Credentials.Retrieve(t.Context())
			if err != nil || keys.AccessKeyID != row.key || got.Region != row.region || got.Endpoint != row.address {
				t.Errorf("got %s in %s at %q, %v; want %s in %s at %q", keys.AccessKeyID, got.Region, got.Endpoint, err, row.key, row.region, row.address)
			}
		})
	}
}

// TestOpenS3_files holds that files of a cluster can take the place of the user's.
func TestOpenS3_files(t *testing.T) {
	bare(t)
	got, err := api.OpenS3(t.Context(), api.S3Options{
		ConfigFile: write(t, "[default]\nregion = us-west-2\n"), CredentialsFile: write(t, "[default]\naws_access_key_id = CLUSTER\naws_secret_access_key = x\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if keys, _ := got.Credentials.Retrieve(t.Context()); keys.AccessKeyID != "CLUSTER" || got.Region != "us-west-2" {
		t.Errorf("got %s in %s", keys.AccessKeyID, got.Region)
	}
}

func TestOpenS3_refuses(t *testing.T) {
	for _, row := range []struct {
		name string
		o    api.S3Options
		want string
	}{
		{"no_credentials", api.S3Options{}, "there are no AWS credentials; run `aws configure"},
		{"no_such_profile", api.S3Options{Profile: "nosuch"}, "nosuch; say with --profile"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bare(t)
			_, err := api.OpenS3(t.Context(), row.o)
			var missing *api.CredentialsError
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// TestOpenS3_authorities holds that AWS_CA_BUNDLE counts.
func TestOpenS3_authorities(t *testing.T) {
	bare(t)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write(t, twoProfiles))
	t.Setenv("AWS_CA_BUNDLE", write(t, pemOf(server.Certificate().Raw)))
	got, err := api.OpenS3(t.Context(), api.S3Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: got.TLS}}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

func pemOf(certificate []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

// TestOpenS3_renewal has that expired credentials come with what renews them, and that keys in a file are read again.
func TestOpenS3_renewal(t *testing.T) {
	file := write(t, twoProfiles)
	for _, row := range []struct {
		name, config, want string
		env                map[string]string
	}{
		{name: "file", want: "write new ones to " + file},
		{name: "environment", env: map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "z"},
			want: "export new ones: those of the environment (AWS_ACCESS_KEY_ID) stay as they were when the command started"},
		{name: "process", env: map[string]string{"AWS_PROFILE": "asked"}, want: "the profile's credential_process has to return new ones",
			config: "[profile asked]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \"A\", \"SecretAccessKey\": \"S\"}'\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bare(t)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
			t.Setenv("AWS_CONFIG_FILE", write(t, row.config))
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			got, err := api.OpenS3(t.Context(), api.S3Options{})
			if err != nil || got.Renewal != row.want {
				t.Errorf("got %q, %v; want %q", got.Renewal, err, row.want)
			}
		})
	}
	t.Run("new_keys_in_the_file", func(t *testing.T) {
		bare(t)
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
		got, err := api.OpenS3(t.Context(), api.S3Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = NEW\naws_secret_access_key = x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got.Credentials.(*aws.CredentialsCache).Invalidate()
		if keys, err := got.Credentials.Retrieve(t.Context()); err != nil || keys.AccessKeyID != "NEW" {
			t.Errorf("got %s, %v", keys.AccessKeyID, err)
		}
	})
}
