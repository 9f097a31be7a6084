package formation

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"
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

func (j *job) changeRecord(ctx context.Context, action types.ChangeAction) error {
	set := without(j.props, "HostedZoneId", "HostedZoneName", "ResourceRecords", "Comment")
	var values []any
	for _, v := range textsOf(j.props["ResourceRecords"]) {
		if v != "" {
			values = append(values, props{"Value": v})
		}
	}
	if values != nil {
		set["ResourceRecords"] = values
	}
	return tell(ctx, j.aws.route53.ChangeResourceRecordSets, props{"HostedZoneId": j.props["HostedZoneId"],
		"ChangeBatch": props{"Changes": []any{props{"Action": string(action), "ResourceRecordSet": set}}}})
}

func putRecord(ctx context.Context, j *job) error {
	if j.id != "" {
		return j.changeRecord(ctx, types.ChangeActionUpsert)
	}
	err := j.changeRecord(ctx, types.ChangeActionCreate)
	if err == nil {
		j.id = text(j.props["Name"])
	}
	return err
}

func removeRecord(ctx context.Context, j *job) error {
	err := j.changeRecord(ctx, types.ChangeActionDelete)
	if code(err) == "InvalidChangeBatch" {
		return nil // somebody else has deleted it
	}
	return err
}
