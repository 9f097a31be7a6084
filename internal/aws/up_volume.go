package aws

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// volumes refuses to take volumes from a head node that runs: it has them mounted and
// shares them, and EC2 would wait for ever to detach them.
func (u *up) volumes(ctx context.Context) error {
	leaving, err := u.leaving(ctx)
	if err != nil || len(leaving) == 0 {
		return err
	}
	instances, err := u.Account.Instances(ctx, u.Name)
	if err != nil {
		return err
	}
	head := slices.IndexFunc(instances, func(i api.Instance) bool { return i.Role == manifest.RoleHead && !i.Gone() })
	if head < 0 {
		return nil
	}
	var reasons []string
	for _, volume := range leaving {
		reasons = append(reasons, "the head node "+instances[head].ID+" has "+volume+
			" mounted, and EC2 takes it from no machine that does: run `muster down`, which keeps it, and then `muster up` with the new file")
	}
	return &Refused{Reasons: reasons}
}

// leaving are the volumes that the cluster has attached and its file has no more.
func (u *up) leaving(ctx context.Context) ([]string, error) {
	state, there := u.stacks[u.Name]
	if !there || state.Status == "REVIEW_IN_PROGRESS" {
		return nil, nil
	}
	have, err := u.driver.Resources(ctx, u.Name)
	if errors.Is(err, cloudformation.ErrNoStack) {
		return nil, nil
	}
	var all []string
	for _, r := range have {
		if _, stays := u.set.Cluster.Template.Resource(r.Name); r.Type == "AWS::EC2::VolumeAttachment" && r.ID != "" && !stays {
			volume, _, _ := strings.Cut(r.ID, "|")
			all = append(all, volume)
		}
	}
	return all, err
}
