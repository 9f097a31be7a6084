package formation

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

func iamTags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

func createRole(ctx context.Context, j *job) error {
	in := &iam.CreateRoleInput{RoleName: aws.String(j.generated(64)), Tags: iamTags(j.labels())}
	if err := fill(in, without(j.props, "Tags", "Policies", "ManagedPolicyArns"), nil); err != nil {
		return err
	}
	out, err := j.aws.iam.CreateRole(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.Role.RoleName
	j.att["Arn"], j.att["RoleId"] = *out.Role.Arn, *out.Role.RoleId
	return j.grant(ctx)
}

// grant brings a role's policies to those of the properties.
func (j *job) grant(ctx context.Context) error {
	before, after := inlines(j.old), inlines(j.props)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[name]; !still {
			if _, err := j.aws.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &j.id, PolicyName: &name}); ignoreMissing(err) != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] == after[name] {
			continue
		}
		if _, err := j.aws.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &j.id, PolicyName: &name, PolicyDocument: aws.String(after[name])}); err != nil {
			return err
		}
	}
	added, removed := moved(j, "ManagedPolicyArns")
	for _, arn := range added {
		if _, err := j.aws.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &j.id, PolicyArn: &arn}); err != nil {
			return err
		}
	}
	for _, arn := range removed {
		if _, err := j.aws.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &j.id, PolicyArn: &arn}); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// inlines are the policies of a role's own, by name.
func inlines(props map[string]any) map[string]string {
	out := map[string]string{}
	for _, p := range ruleList(props, "Policies") {
		out[text(p["PolicyName"])] = document(p["PolicyDocument"])
	}
	return out
}

func updateRole(ctx context.Context, j *job) error {
	if j.changed("AssumeRolePolicyDocument") {
		if _, err := j.aws.iam.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: &j.id, PolicyDocument: aws.String(document(j.props["AssumeRolePolicyDocument"]))}); err != nil {
			return err
		}
	}
	if j.changed("Description") || j.changed("MaxSessionDuration") {
		in := &iam.UpdateRoleInput{RoleName: &j.id}
		if err := fill(in, without(j.props, "Tags", "Policies", "ManagedPolicyArns", "AssumeRolePolicyDocument", "Path", "PermissionsBoundary", "RoleName"), nil); err != nil {
			return err
		}
		if _, err := j.aws.iam.UpdateRole(ctx, in); err != nil {
			return err
		}
	}
	if j.changed("PermissionsBoundary") {
		return reason("The double does not change the PermissionsBoundary of a role")
	}
	set, unset := j.relabelled()
	return steps(func() error { return j.grant(ctx) }, func() error {
		if len(unset) == 0 {
			return nil
		}
		_, err := j.aws.iam.UntagRole(ctx, &iam.UntagRoleInput{RoleName: &j.id, TagKeys: unset})
		return err
	}, func() error {
		if len(set) == 0 {
			return nil
		}
		_, err := j.aws.iam.TagRole(ctx, &iam.TagRoleInput{RoleName: &j.id, Tags: iamTags(set)})
		return err
	})
}

func removeRole(ctx context.Context, j *job) error {
	bare := *j
	bare.old, bare.props = j.props, map[string]any{}
	if err := bare.grant(ctx); err != nil {
		return err
	}
	_, err := j.aws.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &j.id})
	return err
}

func createProfile(ctx context.Context, j *job) error {
	in := &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(j.generated(128))}
	if err := fill(in, without(j.props, "Roles"), nil); err != nil {
		return err
	}
	out, err := j.aws.iam.CreateInstanceProfile(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.InstanceProfile.InstanceProfileName
	j.att["Arn"] = *out.InstanceProfile.Arn
	return updateProfile(ctx, j)
}

func updateProfile(ctx context.Context, j *job) error {
	added, removed := moved(j, "Roles")
	for _, role := range removed {
		if _, err := j.aws.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &j.id, RoleName: &role}); ignoreMissing(err) != nil {
			return err
		}
	}
	for _, role := range added {
		if _, err := j.aws.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &j.id, RoleName: &role}); err != nil {
			return err
		}
	}
	return nil
}

func removeProfile(ctx context.Context, j *job) error {
	bare := *j
	bare.old, bare.props = j.props, map[string]any{}
	if err := updateProfile(ctx, &bare); err != nil {
		return err
	}
	_, err := j.aws.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &j.id})
	return err
}

// attached brings those who have a managed policy up to date. Users and groups are
// not part of the double.
func (j *job) attached(ctx context.Context) error {
	if j.props["Users"] != nil || j.props["Groups"] != nil {
		return reason("The double attaches policies to roles only")
	}
	added, removed := moved(j, "Roles")
	for _, role := range removed {
		if _, err := j.aws.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &role, PolicyArn: &j.id}); ignoreMissing(err) != nil {
			return err
		}
	}
	for _, role := range added {
		if _, err := j.aws.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &role, PolicyArn: &j.id}); err != nil {
			return err
		}
	}
	return nil
}

func createPolicy(ctx context.Context, j *job) error {
	in := &iam.CreatePolicyInput{PolicyName: aws.String(j.generated(128))}
	if err := fill(in, without(j.props, "Roles", "Users", "Groups"), map[string]string{"ManagedPolicyName": "PolicyName"}); err != nil {
		return err
	}
	out, err := j.aws.iam.CreatePolicy(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.Policy.Arn
	j.att["PolicyArn"], j.att["PolicyId"], j.att["DefaultVersionId"] = j.id, *out.Policy.PolicyId, aws.ToString(out.Policy.DefaultVersionId)
	return j.attached(ctx)
}

func updatePolicy(ctx context.Context, j *job) error {
	if j.changed("PolicyDocument") {
		old := text(j.att["DefaultVersionId"])
		out, err := j.aws.iam.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: &j.id, SetAsDefault: true, PolicyDocument: aws.String(document(j.props["PolicyDocument"]))})
		if err != nil {
			return err
		}
		j.att["DefaultVersionId"] = aws.ToString(out.PolicyVersion.VersionId)
		if _, err := j.aws.iam.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: &j.id, VersionId: &old}); ignoreMissing(err) != nil {
			return err
		}
	}
	return j.attached(ctx)
}

func removePolicy(ctx context.Context, j *job) error {
	bare := *j
	bare.old, bare.props = j.props, map[string]any{}
	if err := bare.attached(ctx); err != nil {
		return err
	}
	_, err := j.aws.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: &j.id})
	return err
}

// holders are the roles of a policy that stands in the template by itself.
func holders(props map[string]any) []string {
	if r := text(props["RoleName"]); r != "" {
		return []string{r}
	}
	if props["Roles"] == nil {
		return nil
	}
	return textsOf(props["Roles"])
}

func createInline(ctx context.Context, j *job) error {
	if j.props["Users"] != nil || j.props["Groups"] != nil {
		return reason("The double attaches policies to roles only")
	}
	j.id = j.generated(128)
	j.att["Id"] = j.id
	return updateInline(ctx, j)
}

func updateInline(ctx context.Context, j *job) error {
	now := holders(j.props)
	for _, role := range holders(j.old) {
		if !slices.Contains(now, role) || j.changed("PolicyName") {
			if _, err := j.aws.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &role, PolicyName: aws.String(text(j.old["PolicyName"]))}); ignoreMissing(err) != nil {
				return err
			}
		}
	}
	for _, role := range now {
		if _, err := j.aws.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &role, PolicyName: aws.String(text(j.props["PolicyName"])),
			PolicyDocument: aws.String(document(j.props["PolicyDocument"]))}); err != nil {
			return err
		}
	}
	return nil
}

func removeInline(ctx context.Context, j *job) error {
	bare := *j
	bare.old, bare.props = j.props, map[string]any{}
	return updateInline(ctx, &bare)
}
