// Package account is quotas, prices, rights and tags in the double of AWS: what a
// caller may, what it costs, and what there is. What moto knows of these is asked
// of moto, and ours is added.
package account

import (
	"context"
	"net/http"
	"sync"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Options say whose account it is.
type Options struct {
	Region, Account string
	// Moto passes a call on. It is nil where there is no moto.
	Moto func(context.Context, *wire.Call) (*wire.Answer, error)
	// Resources are the tagged resources of all services in front of moto.
	Resources func() []wire.Resource
}

// Service is the account.
type Service struct {
	opts Options

	mu     sync.Mutex // guards what follows
	quotas []Quota
	denied []string
	lustre []string
}

// Services are the signing names of the services that it answers for.
var Services = []string{"servicequotas", "pricing", "iam", "tagging", "sts"}

// New returns an account with high quotas and all rights, in a region that sells all
// file systems for Lustre.
func New(opts Options) *Service {
	s := &Service{opts: opts, lustre: []string{"SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"}}
	for code, name := range vcpuQuotas {
		s.quotas = append(s.quotas, Quota{Service: "ec2", Code: code, Name: name, Value: 1_000_000})
	}
	s.quotas = append(s.quotas, networkQuotas...)
	return s
}

// Answer answers the calls that are ours.
func (s *Service) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	var answer *wire.Answer
	var err *wire.Error
	switch c.Service + " " + c.Action {
	case "servicequotas GetServiceQuota":
		answer, err = s.quota(c)
	case "servicequotas GetAWSDefaultServiceQuota":
		answer, err = s.defaultQuota(c)
	case "servicequotas ListServiceQuotas":
		answer, err = s.listQuotas(c)
	case "pricing GetProducts":
		answer, err = s.products(c)
	case "iam SimulatePrincipalPolicy":
		answer, err = s.simulate(ctx, c)
	case "sts GetCallerIdentity":
		answer, err = s.caller(ctx, c)
	case "tagging GetResources":
		answer, err = s.tagged(ctx, c)
	default:
		return nil, false
	}
	if err != nil && err.Status == http.StatusNotImplemented {
		return wire.Missing("%s", err.Message), true
	}
	if err != nil {
		answer = c.Fault(err)
	}
	return answer, true
}

func internal(err error) *wire.Error {
	return &wire.Error{Status: http.StatusInternalServerError, Code: "InternalServerError", Message: err.Error()}
}
