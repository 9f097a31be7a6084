package formation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// createZone makes a zone. The call takes one network; others are associated with it
// afterwards.
func createZone(ctx context.Context, j *job) error {
	in := &route53.CreateHostedZoneInput{CallerReference: aws.String(uuid())}
	if err := fill(in, without(j.props, "HostedZoneTags", "VPCs"), nil); err != nil {
		return err
	}
	networks, err := zoneVPCs(j.props)
	if err != nil {
		return err
	}
	if len(networks) > 0 {
		in.VPC = &networks[0]
	}
	out, err := j.aws.route53.CreateHostedZone(ctx, in)
	if err != nil {
		return err
	}
	j.id = strings.TrimPrefix(*out.HostedZone.Id, "/hostedzone/")
	j.att["Id"] = j.id
	if out.DelegationSet != nil {
		j.att["NameServers"] = list(out.DelegationSet.NameServers)
	}
	for _, n := range networks[min(1, len(networks)):] {
		if _, err := j.aws.route53.AssociateVPCWithHostedZone(ctx, &route53.AssociateVPCWithHostedZoneInput{HostedZoneId: &j.id, VPC: &n}); err != nil {
			return err
		}
	}
	return j.retagZone(ctx)
}

func zoneVPCs(props map[string]any) ([]types.VPC, error) {
	var out []types.VPC
	for _, p := range ruleList(props, "VPCs") {
		one := types.VPC{}
		if err := fill(&one, p, nil); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (j *job) retagZone(ctx context.Context) error {
	labelled := *j
	labelled.old, labelled.props = map[string]any{"Tags": j.old["HostedZoneTags"]}, map[string]any{"Tags": j.props["HostedZoneTags"]}
	set, unset := labelled.relabelled()
	in := &route53.ChangeTagsForResourceInput{ResourceId: &j.id, ResourceType: types.TagResourceTypeHostedzone, RemoveTagKeys: unset}
	for _, k := range slices.Sorted(maps.Keys(set)) {
		in.AddTags = append(in.AddTags, types.Tag{Key: aws.String(k), Value: aws.String(set[k])})
	}
	if len(in.AddTags)+len(unset) == 0 {
		return nil
	}
	_, err := j.aws.route53.ChangeTagsForResource(ctx, in)
	return err
}

func updateZone(ctx context.Context, j *job) error {
	if j.changed("VPCs") {
		return reason("The double does not change the VPCs of a zone")
	}
	if c, ok := j.props["HostedZoneConfig"].(map[string]any); ok && j.changed("HostedZoneConfig") {
		if _, err := j.aws.route53.UpdateHostedZoneComment(ctx, &route53.UpdateHostedZoneCommentInput{Id: &j.id, Comment: aws.String(text(c["Comment"]))}); err != nil {
			return err
		}
	}
	return j.retagZone(ctx)
}

// removeZone fails while the zone has records other than its own two.
func removeZone(ctx context.Context, j *job) error {
	_, err := j.aws.route53.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: &j.id})
	return err
}

func record(props map[string]any) (*types.ResourceRecordSet, error) {
	set := &types.ResourceRecordSet{}
	if err := fill(set, without(props, "HostedZoneId", "HostedZoneName", "ResourceRecords", "Comment"), nil); err != nil {
		return nil, err
	}
	for _, v := range textsOf(props["ResourceRecords"]) {
		if v != "" {
			set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: aws.String(v)})
		}
	}
	return set, nil
}

func (j *job) changeRecord(ctx context.Context, action types.ChangeAction, props map[string]any) error {
	set, err := record(props)
	if err != nil {
		return err
	}
	_, err = j.aws.route53.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String(text(props["HostedZoneId"])),
		ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{Action: action, ResourceRecordSet: set}}}})
	return err
}

func putRecord(ctx context.Context, j *job) error {
	if j.id == "" {
		err := j.changeRecord(ctx, types.ChangeActionCreate, j.props)
		if err == nil {
			j.id = text(j.props["Name"])
		}
		return err
	}
	return j.changeRecord(ctx, types.ChangeActionUpsert, j.props)
}

func removeRecord(ctx context.Context, j *job) error {
	err := j.changeRecord(ctx, types.ChangeActionDelete, j.props)
	if code(err) == "InvalidChangeBatch" {
		return nil // somebody else has deleted it
	}
	return err
}
