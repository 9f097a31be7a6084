package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/logincreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// S3Options say what the command line says of where buckets are. What is empty is the environment's to say.
type S3Options struct {
	Endpoint, Region, Profile string
	// ConfigFile and CredentialsFile are read instead of those of the environment.
	ConfigFile, CredentialsFile string
}

// S3 is where buckets are, and who asks for them.
type S3 struct {
	// Endpoint is empty for AWS's own.
	Endpoint    string
	Region      string
	Credentials aws.CredentialsProvider
	// Renewal is what the user can do when the credentials have expired, "" where they renew themselves.
	Renewal string
	// TLS has the authorities that AWS_CA_BUNDLE names, and is nil where it names none.
	TLS *tls.Config
}

// s3Region is where S3 is asked first where no region is known: there it knows of all buckets.
const s3Region = "us-east-1"

// OpenS3 reads the credentials and settings of the environment as AWS's own programs read them. A *CredentialsError
// says what is missing; S3 is not asked yet.
func OpenS3(ctx context.Context, o S3Options) (S3, error) {
	c, err := load(ctx, o.Region, o.settings()...)
	if errors.As(err, new(config.SharedConfigProfileNotExistError)) {
		return S3{}, &CredentialsError{Err: err, Hint: "say with --profile or AWS_PROFILE one that is in ~/.aws/config or ~/.aws/credentials"}
	}
	if err != nil {
		return S3{}, unread(err)
	}
	keys, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return S3{}, missing(err)
	}
	// The SDK's client finds AWS_ENDPOINT_URL_S3 and what else may say it.
	endpoint := aws.ToString(s3.NewFromConfig(c).Options().BaseEndpoint)
	return S3{Endpoint: cmp.Or(o.Endpoint, endpoint), Region: cmp.Or(c.Region, s3Region), Credentials: o.rereading(keys, c.Credentials),
		Renewal: renewal(keys.Source, o.Profile), TLS: trust(c)}, nil
}

// ofFile begins the SDK's name for keys in ~/.aws/credentials or ~/.aws/config; the file follows it.
const ofFile = "SharedConfigCredentials"

// rereading returns a source of credentials that reads keys in a file again when they are invalidated: the SDK reads them once.
func (o S3Options) rereading(keys aws.Credentials, source aws.CredentialsProvider) aws.CredentialsProvider {
	if !strings.HasPrefix(keys.Source, ofFile) {
		return source
	}
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		c, err := load(ctx, o.Region, o.settings()...)
		if err != nil {
			return aws.Credentials{}, unread(err)
		}
		return c.Credentials.Retrieve(ctx)
	}))
}

// renewal returns what renews credentials of a source, by the SDK's name for it.
func renewal(source, profile string) string {
	switch {
	case source == config.CredentialsSourceName:
		return "export new ones: those of the environment (AWS_ACCESS_KEY_ID) stay as they were when the command started"
	case source == ssocreds.ProviderName:
		return "run `" + login(profile) + "`"
	case source == logincreds.ProviderName:
		return "run `" + strings.Replace(login(profile), "aws sso login", "aws login", 1) + "`"
	case source == processcreds.ProviderName:
		return "the profile's credential_process has to return new ones"
	case strings.HasPrefix(source, ofFile):
		return strings.TrimSpace("write new ones to " + strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(source, ofFile), ":")))
	}
	return ""
}

func (o S3Options) settings() []func(*config.LoadOptions) error {
	var all []func(*config.LoadOptions) error
	if o.Profile != "" {
		all = append(all, config.WithSharedConfigProfile(o.Profile))
	}
	if o.ConfigFile != "" {
		all = append(all, config.WithSharedConfigFiles([]string{o.ConfigFile}))
	}
	if o.CredentialsFile != "" {
		all = append(all, config.WithSharedCredentialsFiles([]string{o.CredentialsFile}))
	}
	return all
}

// trust is what the SDK's own client trusts.
func trust(c aws.Config) *tls.Config {
	client, ok := c.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		return nil
	}
	return client.GetTransport().TLSClientConfig
}
