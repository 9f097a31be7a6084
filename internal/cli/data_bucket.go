package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/store"
)

// bucketFlags say where buckets are and who asks for them.
type bucketFlags struct{ endpoint, region, profile string }

func (f *bucketFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.endpoint, "endpoint-url", "", "the `URL` of a place other than AWS (default: AWS_ENDPOINT_URL_S3)")
	c.Flags().StringVar(&f.region, "region", "", "the `REGION` to ask first, and of a new bucket (default: AWS_REGION, or the profile's)")
	c.Flags().StringVar(&f.profile, "profile", "", "the `PROFILE` of AWS's credentials (default: AWS_PROFILE)")
}

// bucketOf is where a target's bucket is, for store.Open, whose other settings are the
// caller's to add. Where that is not AWS, it says so.
func (a *app) bucketOf(ctx context.Context, f bucketFlags, t target) (store.Config, error) {
	c, err := a.bucketPlace(ctx, f)
	if err != nil {
		return c, err
	}
	c.Bucket = t.bucket
	if c.Dial == nil { // the buckets of a cluster on this machine are all in one region
		c = store.Located(ctx, c)
	}
	return c, nil
}

// bucketPlace is where buckets are, without the name of one: for store.Buckets.
func (a *app) bucketPlace(ctx context.Context, f bucketFlags) (store.Config, error) {
	at, err := a.clusterS3(ctx, f)
	if err != nil {
		return store.Config{}, err
	}
	if at.CredentialsFile != "" {
		a.note("the buckets are those of cluster %s, at %s", a.asked(), at.Endpoint)
		return store.Config{Endpoint: at.Endpoint, Region: at.Region, CredentialsFile: at.CredentialsFile, Dial: at.Dial}, nil
	}
	o := f.options()
	if o.Region == "" {
		o.Region = at.Region
	}
	s3, err := api.OpenS3(ctx, o)
	if err != nil {
		return store.Config{}, orOfCluster(err)
	}
	if s3.Endpoint != "" {
		if err := checkEndpoint(s3.Endpoint); err != nil {
			return store.Config{}, err
		}
		a.note("the buckets are those at %s", s3.Endpoint)
	}
	return store.Config{Endpoint: s3.Endpoint, Region: s3.Region, Credentials: s3.Credentials, Renewal: s3.Renewal, TLS: s3.TLS}, nil
}

// orOfCluster adds to what is said of missing credentials that clusters have buckets, too.
func orOfCluster(err error) error {
	home, _ := homeDir()
	names, _ := knownNames(home, nil)
	if len(names) == 0 || !errors.As(err, new(*api.CredentialsError)) || inside() {
		return err
	}
	return fmt.Errorf("%w; for a cluster's buckets say --cluster %s", err, names[0])
}

// clusterS3 is where the buckets of the cluster are that the user names. A machine of a
// cluster has its own, which the environment of its users leads to.
func (a *app) clusterS3(ctx context.Context, f bucketFlags) (place.S3, error) {
	if a.asked() == "" || inside() {
		return place.S3{}, nil
	}
	w, err := a.find("")
	if err != nil {
		return place.S3{}, err
	}
	at, err := w.S3(ctx)
	if err == nil && at.CredentialsFile != "" && f != (bucketFlags{}) {
		err = fault.Usage(fmt.Errorf("cluster %s has a place, a region and credentials of its own for its buckets: leave --endpoint-url, --region and --profile out, or the cluster", w.name))
	}
	return at, err
}

// options are what the environment does not say. Jobs that begin without it on a machine
// of a local cluster still find the cluster's own files.
func (f bucketFlags) options() api.S3Options {
	o := api.S3Options{Endpoint: f.endpoint, Region: f.region, Profile: f.profile}
	if inside() && os.Getenv("AWS_CONFIG_FILE") == "" && there(services.AWSDir+"/config") {
		o.ConfigFile, o.CredentialsFile = services.AWSDir+"/config", services.AWSDir+"-credentials"
	}
	return o
}

func checkEndpoint(text string) error {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("it is like https://HOST:PORT")
	}
	if err != nil {
		return fault.Usage(fmt.Errorf("%q is no URL of an S3 server: %w", text, err))
	}
	return nil
}
