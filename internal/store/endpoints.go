package store

import (
	"context"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyauth "github.com/aws/smithy-go/auth"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// endpoint is a place of our own, whose buckets are its first directories. S3's rules for the names of all its places would
// be asked twice for each request, which is an eighth of what a small object costs.
type endpoint struct{ url url.URL }

// ResolveEndpoint implements s3.EndpointResolverV2. The SDK changes what it is given: it is made anew each time.
func (e endpoint) ResolveEndpoint(_ context.Context, p s3.EndpointParameters) (smithyendpoints.Endpoint, error) {
	found := smithyendpoints.Endpoint{URI: e.url}
	if bucket := aws.ToString(p.Bucket); bucket != "" {
		found.URI.Path = strings.TrimSuffix(e.url.Path, "/") + "/" + bucket
	}
	var signer smithy.Properties
	smithyhttp.SetDisableDoubleEncoding(&signer, true)
	smithyhttp.SetSigV4SigningName(&signer, "s3")
	smithyhttp.SetSigV4SigningRegion(&signer, aws.ToString(p.Region))
	smithyauth.SetAuthOptions(&found.Properties, []*smithyauth.Option{{SchemeID: smithyauth.SchemeIDSigV4, SignerProperties: signer}})
	return found, nil
}
