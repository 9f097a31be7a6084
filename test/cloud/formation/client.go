package formation

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// clients call the services that make resources.
type clients struct {
	region  string
	ec2     *ec2.Client
	iam     *iam.Client
	s3      *s3.Client
	fsx     *fsx.Client
	efs     *efs.Client
	route53 *route53.Client
	logs    *cloudwatchlogs.Client
	watch   *cloudwatch.Client
	ssm     *ssm.Client
	sts     *sts.Client
	nested  *cloudformation.Client
	plain   *plainClient

	// rules lets one rule of a security group be made or taken away at a time: moto finds one by its place in a
	// list, which another call may have changed.
	rules sync.Mutex

	mu      sync.Mutex // guards account while it is not known
	account string
}

func newClients(cfg aws.Config) *clients {
	return &clients{
		region:  cfg.Region,
		ec2:     ec2.NewFromConfig(cfg),
		iam:     iam.NewFromConfig(cfg),
		s3:      s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
		fsx:     fsx.NewFromConfig(cfg),
		efs:     efs.NewFromConfig(cfg),
		route53: route53.NewFromConfig(cfg),
		logs:    cloudwatchlogs.NewFromConfig(cfg),
		watch:   cloudwatch.NewFromConfig(cfg),
		ssm:     ssm.NewFromConfig(cfg),
		sts:     sts.NewFromConfig(cfg),
		nested:  cloudformation.NewFromConfig(cfg),
		plain:   &plainClient{cfg: cfg},
	}
}

// identify learns the account, once.
func (c *clients) identify(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account != "" {
		return nil
	}
	out, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err == nil {
		c.account = *out.Account
	}
	return err
}

// zones are those of the region.
func (c *clients) zones(ctx context.Context) ([]string, error) {
	out, err := c.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, z := range out.AvailabilityZones {
		names = append(names, *z.ZoneName)
	}
	return names, nil
}

// message is what a service says of an error, without what the client adds.
func message(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimSpace(e.ErrorMessage())
	}
	return err.Error()
}
