package cloud

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/test/cloud/account"
	"github.com/muster-hpc/muster/test/cloud/ec2"
	"github.com/muster-hpc/muster/test/cloud/formation"
	"github.com/muster-hpc/muster/test/cloud/fsx"
	"github.com/muster-hpc/muster/test/cloud/scaling"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// assemble puts our services in front of moto.
func (c *Cloud) assemble(ctx context.Context) {
	var ask func(context.Context, *wire.Call) (*wire.Answer, error)
	if c.moto != nil {
		ask = c.askMoto
	}
	c.Account = account.New(account.Options{Region: c.opts.Region, Account: Account, Moto: ask, Resources: c.resources})
	o := c.opts.EC2
	o.Clock, o.Region, o.Account, o.Moto, o.Quota = c.Clock, c.opts.Region, Account, ask, c.Account.Quota
	c.EC2 = ec2.New(o)
	c.Formation = formation.New(context.WithoutCancel(ctx), c.inner(), c.Clock)
	c.FSx = fsx.New(c.inner(), c.Clock)
	c.Handle("ec2", c.EC2)
	c.Handle("cloudformation", c.Formation)
	c.Handle("fsx", c.FSx)
	c.Handle("autoscaling", scaling.New(c.inner()))
	for _, name := range account.Services {
		c.Handle(name, c.Account)
	}
	c.Handle("s3", &policies{})
	c.Handle("monitoring", &metrics{ask: ask})
}

// resources are the tagged resources of the services in front of moto.
func (c *Cloud) resources() []wire.Resource {
	c.mu.Lock()
	var services []wire.Tagged
	seen := map[wire.Service]bool{}
	for _, list := range c.services {
		for _, s := range list {
			if t, ok := s.(wire.Tagged); ok && !seen[s] {
				seen[s] = true
				services = append(services, t)
			}
		}
	}
	c.mu.Unlock()
	var all []wire.Resource
	for _, s := range services {
		all = append(all, s.Tagged()...)
	}
	return all
}

// innerKey is the access key of the double's own calls of itself.
const innerKey = "double"

// inner is the configuration of services of ours that call others: CloudFormation
// makes what its templates say. Faults spare such calls unless their rule says
// otherwise.
func (c *Cloud) inner() aws.Config {
	config := c.Config()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: innerKey, SecretAccessKey: innerKey, Source: "double"}, nil
	})
	return config
}
