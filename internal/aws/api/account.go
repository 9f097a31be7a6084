// Package api asks an AWS account: which identity calls, which of the things exist that a
// cluster file names, what is left of a cluster and what it costs. It also does the few
// things that no stack does: it imports a key, ends instances, exports a file
// system for the last time, empties a bucket. Each of its calls may be repeated.
package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
)

// Account is an account of AWS in one region, as one identity sees it.
type Account struct {
	Region string
	config aws.Config
}

// Open reads the credentials and settings of the environment. The region is the
// environment's where none is given. A *CredentialsError says what is missing; AWS
// is not asked yet.
func Open(ctx context.Context, region string) (*Account, error) { return open(ctx, region) }

// OpenOwn is Open with the user's own credentials alone: the role of the machine counts for nobody. A cluster's machines
// have one that is theirs.
func OpenOwn(ctx context.Context, region string) (*Account, error) {
	return open(ctx, region, config.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) {
		o.Client = imds.New(imds.Options{ClientEnableState: imds.ClientDisabled, Logger: logging.Nop{}})
	}))
}

func open(ctx context.Context, region string, more ...func(*config.LoadOptions) error) (*Account, error) {
	c, err := load(ctx, region, more...)
	if err != nil {
		return nil, unread(err)
	}
	if c.Region == "" {
		return nil, errors.New("the region is not known: set AWS_REGION, or write Region into the cluster file")
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, missing(err)
	}
	return &Account{Region: c.Region, config: c}, nil
}

// load reads the settings of the environment. The region is the environment's where
// none is given.
func load(ctx context.Context, region string, more ...func(*config.LoadOptions) error) (aws.Config, error) {
	known := region
	options := []func(*config.LoadOptions) error{
		config.WithRegion(region), config.WithRetryer(retryer), config.WithLogger(logging.Nop{}),
		config.WithEC2RoleCredentialOptions(sessionsOnly), config.WithAPIOptions([]func(*middleware.Stack) error{inWords(&known)}),
	}
	c, err := config.LoadDefaultConfig(ctx, append(options, more...)...)
	known = c.Region
	return c, err
}

// unread is that the settings cannot be read.
func unread(err error) error {
	return &CredentialsError{Err: err, Hint: "look at ~/.aws/config, or set AWS_PROFILE to a profile that is in it"}
}

// Of is the account that a configuration of the SDK leads to.
func Of(c aws.Config) *Account { return &Account{Region: c.Region, config: c} }

// sessionsOnly has instances ask for their credentials as IMDSv2 wants it. The SDK
// would fall back to the older way where that answers slowly, and muster's machines
// have none.
func sessionsOnly(o *ec2rolecreds.Options) {
	o.Client = imds.New(imds.Options{EnableFallback: aws.FalseTernary, Logger: logging.Nop{}})
}

// retryer is the one place where calls are repeated. What throttles us is waited
// for longer than the SDK does by itself.
func retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 8
		o.MaxBackoff = 20 * time.Second
	})
}

// Config is what clients of other services are made with.
func (a *Account) Config() aws.Config { return a.config }

func (a *Account) ec2() *ec2.Client { return ec2.NewFromConfig(a.config) }

// Identity is the caller as AWS knows it.
type Identity struct {
	Account string `json:"account"`
	ARN     string `json:"arn"`
	// Partition is aws, aws-cn or aws-us-gov.
	Partition string `json:"partition"`
}

// Identity asks AWS for the caller. It fails with a *CredentialsError for credentials
// that AWS does not take.
func (a *Account) Identity(ctx context.Context) (Identity, error) {
	out, err := sts.NewFromConfig(a.config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, firstCall)
	if err != nil {
		return Identity{}, failed(err, "ask AWS who we are")
	}
	who := Identity{Account: aws.ToString(out.Account), ARN: aws.ToString(out.Arn), Partition: "aws"}
	if parsed, err := arn.Parse(who.ARN); err == nil && parsed.Partition != "" {
		who.Partition = parsed.Partition
	}
	return who, nil
}

// firstCall gives up sooner: a machine that is not online says so at once.
func firstCall(o *sts.Options) { o.RetryMaxAttempts = 3 }

// Suffix is the end of AWS's host names in the account's partition.
func (a *Account) Suffix() string {
	if strings.HasPrefix(a.Region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// failed says what was done, and why it failed in plain words.
func failed(err error, format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), words(err))
}

// pagesOf are the pages of a list of AWS's, up to the first error.
func pagesOf[Page, Options any](ctx context.Context, p interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*Options)) (*Page, error)
}) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		for p.HasMorePages() {
			if page, err := p.NextPage(ctx); !yield(page, err) || err != nil {
				return
			}
		}
	}
}
