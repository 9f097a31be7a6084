package api

import (
	"cmp"
	"slices"
	"strings"
)

// scope is what some actions are allowed on by the policy for muster's users: on
// less than everything.
type scope struct {
	sid     string
	actions []string
	// resource is a pattern of ARNs, as they are in AWS's largest partition.
	resource  string
	condition map[string]map[string]string
	// example is one of the cluster's, empty where any will do.
	example string
}

// scopes are those of the policy. A condition that a service does not know would deny
// everything: test/templates holds each against AWS's reference of rights.
var scopes = []scope{
	{
		sid: "OwnRoles",
		actions: []string{
			"iam:AttachRolePolicy", "iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePermissionsBoundary", "iam:DeleteRolePolicy", "iam:DetachRolePolicy",
			"iam:PutRolePermissionsBoundary", "iam:PutRolePolicy", "iam:TagRole", "iam:UntagRole", "iam:UpdateAssumeRolePolicy",
		},
		resource: "arn:aws:iam::*:role/muster/*", example: "arn:PARTITION:iam::ACCOUNT:rolePATHCLUSTER/role",
	},
	{
		sid: "OwnProfiles",
		actions: []string{
			"iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile",
		},
		resource: "arn:aws:iam::*:instance-profile/muster/*", example: "arn:PARTITION:iam::ACCOUNT:instance-profilePATHCLUSTER/profile",
	},
	{
		// IfExists: the key is not documented for adding a role to an instance profile.
		sid: "PassOwnRoles", actions: []string{"iam:PassRole"}, resource: "arn:aws:iam::*:role/muster/*",
		condition: map[string]map[string]string{"StringEqualsIfExists": {"iam:PassedToService": "ec2.amazonaws.com"}},
		example:   "arn:PARTITION:iam::ACCOUNT:rolePATHCLUSTER/role",
	},
	{
		// The maker of a link of a file system for Lustre gives AWS's role for it its rights.
		sid: "ServiceRoles", actions: []string{"iam:CreateServiceLinkedRole", "iam:AttachRolePolicy", "iam:PutRolePolicy"},
		resource: "arn:aws:iam::*:role/aws-service-role/*",
		example:  "arn:PARTITION:iam::ACCOUNT:role/aws-service-role/fsx.amazonaws.com/AWSServiceRoleForAmazonFSx",
	},
	{
		// fsx:DeleteFileSystem is not among them: CloudFormation may ask for it once more when
		// muster has deleted a file system, and a deleted one has no tags.
		sid: "ClustersAlone",
		actions: []string{
			"ec2:DeleteVolume", "ec2:ModifyInstanceAttribute", "ec2:StartInstances", "ec2:StopInstances", "ec2:TerminateInstances",
			"elasticfilesystem:DeleteFileSystem", "elasticfilesystem:UpdateFileSystem", "fsx:UpdateFileSystem",
		},
		resource: "*", condition: map[string]map[string]string{"Null": {"aws:ResourceTag/" + ClusterTag: "false"}},
	},
	{
		sid: "OwnLogs", actions: []string{"logs:CreateLogGroup", "logs:DeleteLogGroup", "logs:DeleteRetentionPolicy", "logs:PutRetentionPolicy"},
		resource: "arn:aws:logs:*:*:log-group:/aws/muster/*", example: "arn:PARTITION:logs:REGION:ACCOUNT:log-group:/aws/muster/CLUSTER",
	},
	{
		sid: "OwnKeys", actions: []string{"ec2:ImportKeyPair"},
		resource: "arn:aws:ec2:*:*:key-pair/muster-*", example: "arn:PARTITION:ec2:REGION:ACCOUNT:key-pair/muster-CLUSTER",
	},
}

// question are actions on a resource, empty for everything.
type question struct {
	actions  []string
	resource string
}

// questions are actions with the resources that they are asked about: those that need not
// be allowed on everything, on one of the cluster's.
func (s *survey) questions(actions []string) []question {
	var all []question
	rest := slices.Clone(actions)
	for _, c := range scopes {
		if c.example == "" {
			continue
		}
		of := func(a string) bool { return slices.Contains(c.actions, a) }
		some := slices.DeleteFunc(slices.Clone(rest), func(a string) bool { return !of(a) })
		rest = slices.DeleteFunc(rest, of)
		if len(some) > 0 {
			all = join(all, question{some, s.fill(c.example)})
		}
	}
	// The file's own roles are passed on, too.
	for _, name := range s.names(ofRoles) {
		if slices.Contains(actions, "iam:PassRole") && strings.Contains(name, ":role/") {
			all = join(all, question{[]string{"iam:PassRole"}, name})
		}
	}
	return append(all, question{actions: rest})
}

// join adds a question. IAM judges each action of a call by itself, so that one call asks all
// about a resource.
func join(all []question, q question) []question {
	i := slices.IndexFunc(all, func(other question) bool { return other.resource == q.resource })
	if i < 0 {
		return append(all, q)
	}
	all[i].actions = append(all[i].actions, q.actions...)
	return all
}

// fill is an example of the cluster's own.
func (s *survey) fill(example string) string {
	return strings.NewReplacer("PARTITION", s.who.Partition, "REGION", s.Region, "ACCOUNT", s.who.Account,
		"PATH", cmp.Or(s.wanted.RolePath, "/muster/"), "CLUSTER", cmp.Or(s.wanted.Cluster, "cluster")).Replace(example)
}

// given are the keys of conditions that calls will have.
func (s *survey) given() map[string]string {
	return map[string]string{
		"aws:RequestedRegion": s.Region, "aws:ResourceTag/" + ClusterTag: cmp.Or(s.wanted.Cluster, "cluster"), "iam:PassedToService": "ec2." + s.Suffix(),
	}
}
