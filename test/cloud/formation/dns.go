package formation

import (
	"context"
	"strings"
)

// createZone makes a zone. The call takes one network; others are associated with it
// afterwards.
func createZone(ctx context.Context, j *job) error {
	with := without(j.props, "HostedZoneTags", "VPCs")
	with["CallerReference"] = uuid()
	networks := ruleList(j.props, "VPCs")
	if len(networks) > 0 {
		with["VPC"] = networks[0]
	}
	out, err := ask(ctx, j.aws.route53.CreateHostedZone, with, nil)
	if err != nil {
		return err
	}
	j.id = strings.TrimPrefix(*out.HostedZone.Id, "/hostedzone/")
	j.att["Id"] = j.id
	if out.DelegationSet != nil {
		j.att["NameServers"] = list(out.DelegationSet.NameServers)
	}
	for _, n := range networks[min(1, len(networks)):] {
		if err := tell(ctx, j.aws.route53.AssociateVPCWithHostedZone, props{"HostedZoneId": j.id, "VPC": n}); err != nil {
			return err
		}
	}
	return retagZone(ctx, j)
}

func retagZone(ctx context.Context, j *job) error {
	set, unset := j.relabelled()
	if len(set)+len(unset) == 0 {
		return nil
	}
	with := props{"ResourceId": j.id, "ResourceType": "hostedzone"}
	if len(set) > 0 {
		with["AddTags"] = tagsOf(set)
	}
	if len(unset) > 0 {
		with["RemoveTagKeys"] = list(unset)
	}
	return tell(ctx, j.aws.route53.ChangeTagsForResource, with)
}

func updateZone(ctx context.Context, j *job) error {
	if j.changed("VPCs") {
		return reason("The double does not change the VPCs of a zone")
	}
	if c, ok := j.props["HostedZoneConfig"].(props); ok && j.changed("HostedZoneConfig") {
		if err := tell(ctx, j.aws.route53.UpdateHostedZoneComment, props{"Id": j.id, "Comment": c["Comment"]}); err != nil {
			return err
		}
	}
	return retagZone(ctx, j)
}
