package formation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

func updateInterface(ctx context.Context, j *job) error {
	if j.changed("GroupSet") {
		if err := tell(ctx, j.aws.ec2.ModifyNetworkInterfaceAttribute, props{"NetworkInterfaceId": j.id, "Groups": j.props["GroupSet"]}); err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

func removePlacementGroup(ctx context.Context, j *job) error {
	err := tell(ctx, j.aws.ec2.DeletePlacementGroup, props{"GroupName": j.id})
	if code(err) == "InvalidPlacementGroup.Unknown" {
		return nil
	}
	return err
}

// templateTags are the tags that a launch template itself has.
func templateTags(from props) []any {
	var out []any
	for _, s := range ruleList(from, "TagSpecifications") {
		all, _ := s["Tags"].([]any)
		out = append(out, all...)
	}
	return out
}

func createTemplate(ctx context.Context, j *job) error {
	with := merged(props{"LaunchTemplateName": j.generated(128)}, j.props)
	if len(j.tags) > 0 {
		maps.Copy(with, tagging("launch-template", labels(templateTags(j.props), j.tags)))
	}
	out, err := ask(ctx, j.aws.ec2.CreateLaunchTemplate, with, nil)
	if err != nil {
		return err
	}
	j.id = *out.LaunchTemplate.LaunchTemplateId
	j.att["LaunchTemplateId"], j.att["DefaultVersionNumber"], j.att["LatestVersionNumber"] = j.id, "1", "1"
	return nil
}

func updateTemplate(ctx context.Context, j *job) error {
	if j.changed("LaunchTemplateData") || j.changed("VersionDescription") {
		with := without(j.props, "LaunchTemplateName", "TagSpecifications")
		with["LaunchTemplateId"] = j.id
		out, err := ask(ctx, j.aws.ec2.CreateLaunchTemplateVersion, with, nil)
		if err != nil {
			return err
		}
		j.att["LatestVersionNumber"] = text(*out.LaunchTemplateVersion.VersionNumber)
	}
	labelled := *j
	labelled.old, labelled.props = props{"Tags": templateTags(j.old)}, props{"Tags": templateTags(j.props)}
	return retag(ctx, &labelled)
}

// instanceNames are where a property of an instance has another name in RunInstances.
var instanceNames = map[string]string{"NetworkInterfaces/GroupSet": "Groups", "NetworkInterfaces/AssociatePublicIpAddress": "AssociatePublicIpAddress"}

func createInstance(ctx context.Context, j *job) error {
	sum := sha256.Sum256([]byte(j.stack.id + j.logical + canon(j.props)))
	placement := props{}
	for from, to := range map[string]string{"AvailabilityZone": "AvailabilityZone", "Tenancy": "Tenancy", "PlacementGroupName": "GroupName", "HostId": "HostId"} {
		if v := j.props[from]; v != nil {
			placement[to] = v
		}
	}
	with := without(j.props, "Tags", "AvailabilityZone", "Tenancy", "PlacementGroupName", "HostId", "SourceDestCheck", "Monitoring", "IamInstanceProfile", "PropagateTagsToVolumeOnCreation")
	if len(placement) > 0 {
		with["Placement"] = placement
	}
	if v := j.props["Monitoring"]; v != nil {
		with["Monitoring"] = props{"Enabled": v}
	}
	if v := j.props["IamInstanceProfile"]; v != nil {
		with["IamInstanceProfile"] = props{"Name": v}
	}
	maps.Copy(with, props{"MinCount": "1", "MaxCount": "1", "ClientToken": hex.EncodeToString(sum[:])})
	maps.Copy(with, tagging("instance", j.labels()))
	out, err := ask(ctx, j.aws.ec2.RunInstances, with, instanceNames)
	if err != nil {
		return err
	}
	j.id = *out.Instances[0].InstanceId
	j.att["InstanceId"] = j.id
	return nil
}

func (j *job) instance(ctx context.Context) (*types.Instance, error) {
	out, err := j.aws.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{j.id}})
	if err != nil {
		return nil, err
	}
	for _, r := range out.Reservations {
		for i := range r.Instances {
			return &r.Instances[i], nil
		}
	}
	return nil, nil
}

func readyInstance(ctx context.Context, j *job) (bool, error) {
	i, err := j.instance(ctx)
	if missing(err) || err == nil && i == nil {
		return false, nil // it can take a moment until a new instance is described
	}
	if err != nil {
		return false, err
	}
	switch i.State.Name {
	case types.InstanceStateNameRunning:
	case types.InstanceStateNameTerminated, types.InstanceStateNameShuttingDown:
		return false, reason("Instance %s failed to stabilize. Current state: %s. Reason: %s", j.id, i.State.Name, aws.ToString(i.StateTransitionReason)) // our words
	default:
		return false, nil
	}
	for name, v := range map[string]*string{"PrivateIp": i.PrivateIpAddress, "PublicIp": i.PublicIpAddress, "PrivateDnsName": i.PrivateDnsName,
		"PublicDnsName": i.PublicDnsName, "VpcId": i.VpcId} {
		if v != nil {
			j.att[name] = *v
		}
	}
	if i.Placement != nil {
		j.att["AvailabilityZone"] = aws.ToString(i.Placement.AvailabilityZone)
	}
	return true, nil
}

// updateInstance changes what can be changed while the instance runs. What needs it
// stopped is refused: no template should do that to a head node unseen.
func updateInstance(ctx context.Context, j *job) error {
	for _, name := range slices.Sorted(maps.Keys(merged(j.old, j.props))) {
		if !j.changed(name) || name == "Tags" {
			continue
		}
		with := props{"InstanceId": j.id}
		switch name {
		case "SecurityGroupIds":
			with["Groups"] = j.props[name]
		case "DisableApiTermination", "SourceDestCheck", "EbsOptimized":
			with[name] = props{"Value": j.props[name]}
		default:
			return reason("The double does not change the %s of an instance in place", name)
		}
		if err := tell(ctx, j.aws.ec2.ModifyInstanceAttribute, with); err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

func goneInstance(ctx context.Context, j *job) (bool, error) {
	i, err := j.instance(ctx)
	return err == nil && (i == nil || i.State.Name == types.InstanceStateNameTerminated), err
}

func updateVolume(ctx context.Context, j *job) error {
	change := props{}
	for _, name := range []string{"Size", "VolumeType", "Iops", "Throughput"} {
		if j.changed(name) {
			change[name] = j.props[name]
		}
	}
	for _, name := range []string{"AvailabilityZone", "Encrypted", "KmsKeyId", "SnapshotId"} {
		if j.changed(name) {
			return reason("Update to property %s of AWS::EC2::Volume is not supported.", name) // our words
		}
	}
	if len(change) > 0 {
		change["VolumeId"] = j.id
		if err := tell(ctx, j.aws.ec2.ModifyVolume, change); err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

func removeVolume(ctx context.Context, j *job) error {
	if j.final {
		with := tagging("snapshot", j.labels())
		if err := tell(ctx, j.aws.ec2.CreateSnapshot, merged(with, props{"VolumeId": j.id, "Description": "Created by CloudFormation stack " + j.stack.name})); err != nil {
			return err
		}
		j.final = false
	}
	return tell(ctx, j.aws.ec2.DeleteVolume, props{"VolumeId": j.id})
}

func volumeAttached(_ context.Context, j *job) error {
	j.id = text(j.props["VolumeId"]) + "|" + text(j.props["InstanceId"])
	return nil
}

func detachVolume(ctx context.Context, j *job) error {
	out, err := ask(ctx, j.aws.ec2.DetachVolume, j.props, nil)
	switch {
	case code(err) == "IncorrectState" || code(err) == "InvalidAttachment.NotFound":
		return nil // the instance is gone, and the attachment with it
	case err == nil && out.State == types.VolumeAttachmentStateBusy:
		return &smithy.GenericAPIError{Code: "VolumeInUse", Message: "Exceeded attempts to wait: " + text(j.props["VolumeId"]) + " is busy"}
	}
	return err
}
