package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
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
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return S3{}, missing(err)
	}
	// The SDK's client finds AWS_ENDPOINT_URL_S3 and what else may say it.
	endpoint := aws.ToString(s3.NewFromConfig(c).Options().BaseEndpoint)
	return S3{Endpoint: cmp.Or(o.Endpoint, endpoint), Region: cmp.Or(c.Region, s3Region), Credentials: c.Credentials, TLS: trust(c)}, nil
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
