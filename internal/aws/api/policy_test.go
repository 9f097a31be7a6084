package api

import (
	"path"
	"slices"
)

// wide are what the policy for muster's users names in short, for IAM takes 6,144
// characters of a policy. They allow no more changes than there are in the list of
// rights, and may allow more looks.
var wide = []string{
	"autoscaling:Describe*", "autoscaling:*LifecycleHook", "autoscaling:*LoadBalancerTargetGroups", "autoscaling:*Processes", "autoscaling:*Tags",
	"cloudformation:Describe*", "cloudformation:*ChangeSet", "cloudwatch:*agResource",
	"ec2:Describe*", "ec2:*Tags", "ec2:*sociateAddress", "ec2:*sociateRouteTable", "ec2:*tachInternetGateway", "ec2:*tachVolume", "ec2:ReplaceRoute*",
	"elasticfilesystem:Describe*", "elasticfilesystem:*MountTarget*",
	"elasticloadbalancing:Describe*", "elasticloadbalancing:*Tags", "elasticloadbalancing:*TargetGroup*", "elasticloadbalancing:*Targets",
	"fsx:Describe*", "fsx:*agResource", "fsx:CreateFileSystem*", "logs:Describe*", "logs:*agResource",
	"route53:Get*", "route53:List*", "s3:Get*Configuration", "s3:GetBucket*", "s3:ListBucket*", "s3:*agResource", "servicequotas:Get*",
}

// statement is one of a policy.
type statement struct {
	Sid       string `json:",omitempty"`
	Effect    string
	Action    []string
	Resource  string
	Condition map[string]map[string]string `json:",omitempty"`
}

// statements are the policy that allows some actions: each within its scopes, the others
// on everything.
func statements(actions []string) []statement {
	rest := slices.Clone(actions)
	var all []statement
	for _, c := range scopes {
		all = append(all, statement{c.sid, "Allow", slices.Sorted(slices.Values(c.actions)), c.resource, c.condition})
		rest = slices.DeleteFunc(rest, func(a string) bool { return slices.Contains(c.actions, a) })
	}
	return append([]statement{{Effect: "Allow", Action: inShort(rest), Resource: "*"}}, all...)
}

// inShort are actions with the wide ones for those that they cover.
func inShort(actions []string) []string {
	var all []string
	for _, a := range actions {
		i := slices.IndexFunc(wide, func(pattern string) bool { ok, _ := path.Match(pattern, a); return ok })
		if i >= 0 {
			a = wide[i]
		}
		all = append(all, a)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
