package formation

import (
	"context"
	"maps"
	"slices"
)

// grant brings a role's policies to those of the properties.
func grant(ctx context.Context, j *job) error {
	before, after := inlines(j.old), inlines(j.props)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[name]; !still {
			if err := tell(ctx, j.aws.iam.DeleteRolePolicy, props{"RoleName": j.id, "PolicyName": name}); ignoreMissing(err) != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] == after[name] {
			continue
		}
		if err := tell(ctx, j.aws.iam.PutRolePolicy, props{"RoleName": j.id, "PolicyName": name, "PolicyDocument": after[name]}); err != nil {
			return err
		}
	}
	return exchange(ctx, j, "ManagedPolicyArns", j.aws.iam.DetachRolePolicy, j.aws.iam.AttachRolePolicy, "RoleName", "PolicyArn")
}

// inlines are the policies of a role's own, by name.
func inlines(of props) map[string]string {
	out := map[string]string{}
	for _, p := range ruleList(of, "Policies") {
		out[text(p["PolicyName"])] = document(p["PolicyDocument"])
	}
	return out
}

func updateRole(ctx context.Context, j *job) error {
	if j.changed("AssumeRolePolicyDocument") {
		if err := tell(ctx, j.aws.iam.UpdateAssumeRolePolicy, props{"RoleName": j.id, "PolicyDocument": document(j.props["AssumeRolePolicyDocument"])}); err != nil {
			return err
		}
	}
	if j.changed("Description") || j.changed("MaxSessionDuration") {
		with := without(j.props, "Tags", "Policies", "ManagedPolicyArns", "AssumeRolePolicyDocument", "Path", "PermissionsBoundary", "RoleName")
		with["RoleName"] = j.id
		if err := tell(ctx, j.aws.iam.UpdateRole, with); err != nil {
			return err
		}
	}
	if j.changed("PermissionsBoundary") {
		return reason("The double does not change the PermissionsBoundary of a role")
	}
	if err := grant(ctx, j); err != nil {
		return err
	}
	return relabels(ctx, j, j.aws.iam.UntagRole, j.aws.iam.TagRole, "RoleName", j.id)
}

func setProfileRoles(ctx context.Context, j *job) error {
	return exchange(ctx, j, "Roles", j.aws.iam.RemoveRoleFromInstanceProfile, j.aws.iam.AddRoleToInstanceProfile, "InstanceProfileName", "RoleName")
}
