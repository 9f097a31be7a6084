package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/spec"
)

// profiles are the instance profiles of the cluster's machines.
type profiles struct {
	head   cfn.Profile
	queues map[string]cfn.Profile
	pools  map[string]cfn.Profile
}

// roles are made for each kind of machine, as far as the file brings none.
func (m *maker) roles(p *part) profiles {
	out := profiles{queues: map[string]cfn.Profile{}, pools: map[string]cfn.Profile{}}
	own, _ := m.iamName(computePath)
	passed := []string{"arn:" + m.facts.Partition + ":iam::" + m.facts.Account + ":role" + own + "*"}
	for _, q := range m.queues() {
		who := identity{computePath, id("Queue", q.name), "queue-" + q.name, q.view.Key("Iam"), q.view.At("Iam.S3Access").Items()}
		made := m.profile(p, who, m.computeRights(p))
		out.queues[q.name] = made.profile
		passed = append(passed, made.roles...)
	}
	for _, l := range m.pools() {
		out.pools[l.name] = m.profile(p, identity{"login/", id("Login", l.name), "login-" + l.name, l.view.Key("Iam"), nil}, m.loginRights(p, l)).profile
	}
	head := identity{"", "Head", "head", m.file.At("HeadNode.Iam"), m.file.At("HeadNode.Iam.S3Access").Items()}
	out.head = m.profile(p, head, m.headRights(p, unique(passed))).profile
	return out
}

// identity is a kind of machine with what the file says of its rights.
type identity struct {
	// path is that of its role below the cluster's.
	path     string
	id, name string
	view     spec.View
	// access are the buckets that it may reach.
	access []spec.View
}

// computePath is below which the roles of compute nodes are: those that the head
// node may pass on.
const computePath = "compute/"

// given is a profile, and the roles in it that are not muster's.
type given struct {
	profile cfn.Profile
	roles   []string
}

// profile is the instance profile of a kind of machine: the file's, or one of our
// own around the file's role, or one with a role of our own.
func (m *maker) profile(p *part, who identity, rights []cfn.Statement) given {
	if arn := who.view.Key("InstanceProfile").Text(); arn != "" {
		roles, ok := m.facts.ProfileRoles[arn]
		if !ok {
			m.fail("the role of instance profile %s is not known", arn)
		}
		return given{cfn.Profile{Arn: cfn.Lit(arn)}, roles}
	}
	path, name := m.iamName(who.path)
	profile := cfn.InstanceProfile{InstanceProfileName: name(who.name, "profile"), Path: path}
	roleID, profileID := who.id+"Role", who.id+"Profile"
	roles := []string{}
	if own := who.view.Key("InstanceRole").Text(); own != "" {
		profile.Roles, roles = cfn.Lits(own[strings.LastIndex(own, "/")+1:]), append(roles, own)
	} else {
		profile.Roles = []cfn.Text{cfn.Ref(roleID)}
		p.add(cfn.Resource{ID: roleID, Properties: m.role(who, path, name(who.name, "role"), rights)})
	}
	p.add(cfn.Resource{ID: profileID, Properties: profile})
	return given{cfn.Profile{Arn: cfn.Att(profileID, "Arn")}, roles}
}

func (m *maker) role(who identity, path, name string, rights []cfn.Statement) cfn.Role {
	role := cfn.Role{
		RoleName: name, Path: path, PermissionsBoundary: m.file.At("Iam.PermissionsBoundary").Text(),
		AssumeRolePolicyDocument: policies(cfn.Statement{
			Effect: "Allow", Principal: &cfn.Principal{Service: cfn.Lit("ec2." + m.domain())}, Action: []string{"sts:AssumeRole"},
		}),
		Policies: []cfn.RolePolicy{{PolicyName: "muster", PolicyDocument: policies(rights...)}},
		Tags:     m.tags(who.name),
	}
	if access := m.s3Access(who.access); len(access) > 0 {
		role.Policies = append(role.Policies, cfn.RolePolicy{PolicyName: "S3Access", PolicyDocument: policies(access...)})
	}
	m.sizeOf(who, role)
	for _, item := range who.view.Key("AdditionalIamPolicies").Items() {
		role.ManagedPolicyArns = append(role.ManagedPolicyArns, cfn.Lit(item.Key("Policy").Text()))
	}
	return role
}

// mostPolicy is IAM's limit for the policies that stand in a role, in characters.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const mostPolicy = 10_240

// sizeOf holds the limit, by what the policies have in the template: references are
// about as long as what they become.
func (m *maker) sizeOf(who identity, role cfn.Role) {
	size := 0
	for _, policy := range role.Policies {
		body, err := json.Marshal(policy.PolicyDocument)
		if err != nil {
			m.fail("write the policy of %s: %w", who.name, err)
		}
		size += len(body)
	}
	if size > mostPolicy {
		m.fail("the rights of %s take %d characters, and IAM takes %d: name fewer buckets in S3Access, or bring a role with InstanceRole", who.name, size, mostPolicy)
	}
}

// iamName is the path of roles and profiles, and their names: CloudFormation's
// choice, unless the file's ResourcePrefix has the beginning of one.
func (m *maker) iamName(below string) (path string, name func(who, kind string) string) {
	prefix := m.file.At("Iam.ResourcePrefix").Text()
	at := strings.LastIndex(prefix, "/") + 1
	path, begin := prefix[:at], prefix[at:]
	if path == "" {
		path = "/muster/"
	}
	return path + m.facts.Name + "/" + below, func(who, kind string) string {
		if begin == "" {
			return ""
		}
		sum := sha256.Sum256([]byte(m.facts.Region + "/" + m.facts.Name + "/" + who + "/" + kind))
		return begin + kind + "-" + hex.EncodeToString(sum[:6])
	}
}

// s3Access is the file's S3Access: whole buckets, or keys of them, to read or to
// read and write.
func (m *maker) s3Access(items []spec.View) []cfn.Statement {
	var read, write []cfn.Text
	for _, item := range items {
		resources := cfn.Lits(m.s3(item.Key("BucketName").Text()), m.s3(item.Key("BucketName").Text()+"/*"))
		if key := item.Key("KeyName").Text(); key != "" {
			resources = cfn.Lits(m.s3(item.Key("BucketName").Text() + "/" + key))
		}
		if item.Key("EnableWriteAccess").Bool() {
			write = append(write, resources...)
		} else {
			read = append(read, resources...)
		}
	}
	var out []cfn.Statement
	if len(read) > 0 {
		out = append(out, allow("S3Read", []string{"s3:Get*", "s3:List*"}, read...))
	}
	if len(write) > 0 {
		out = append(out, allow("S3ReadWrite", []string{"s3:*"}, write...))
	}
	return out
}
