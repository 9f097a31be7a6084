package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/muster-hpc/muster/internal/cfn"
	"github.com/muster-hpc/muster/internal/spec"
)

// profiles are the instance profiles of the cluster's machines.
type profiles struct {
	head   cfn.Profile
	queues map[string]cfn.Profile
	pools  map[string]cfn.Profile
	// passed are the roles of machines that the head node starts.
	passed []cfn.Text
}

// roles are made for each kind of machine, as far as the file brings none.
func (m *maker) roles(p *part) profiles {
	out := profiles{queues: map[string]cfn.Profile{}, pools: map[string]cfn.Profile{}}
	for _, q := range m.queues() {
		made := m.profile(p, identity{id("", q.name), "queue-" + q.name, q.view.Key("Iam"), q.view.At("Iam.S3Access").Items()}, m.computeRights(p))
		out.queues[q.name] = made.profile
		out.passed = append(out.passed, made.roles...)
	}
	for _, l := range m.pools() {
		out.pools[l.name] = m.profile(p, identity{"Login" + id("", l.name), "login-" + l.name, l.view.Key("Iam"), nil}, m.loginRights(p)).profile
	}
	head := identity{"Head", "head", m.file.At("HeadNode.Iam"), m.file.At("HeadNode.Iam.S3Access").Items()}
	out.head = m.profile(p, head, m.headRights(p, out.passed)).profile
	return out
}

// identity is a kind of machine with what the file says of its rights.
type identity struct {
	id, name string
	view     spec.View
	// access are the buckets that it may reach.
	access []spec.View
}

// given is a profile, and the roles in it.
type given struct {
	profile cfn.Profile
	roles   []cfn.Text
}

// profile is the instance profile of a kind of machine: the file's, or one of our
// own around the file's role, or one with a role of our own.
func (m *maker) profile(p *part, who identity, rights []cfn.Statement) given {
	if arn := who.view.Key("InstanceProfile").Text(); arn != "" {
		roles, ok := m.facts.ProfileRoles[arn]
		if !ok {
			m.fail("the role of instance profile %s is not known", arn)
		}
		return given{cfn.Profile{Arn: cfn.Lit(arn)}, cfn.Lits(roles...)}
	}
	path, named := m.iamName(who.name)
	profile := cfn.InstanceProfile{InstanceProfileName: named("profile"), Path: path}
	roleID, profileID := who.id+"Role", who.id+"Profile"
	var arn cfn.Text
	if own := who.view.Key("InstanceRole").Text(); own != "" {
		arn, profile.Roles = cfn.Lit(own), cfn.Lits(own[strings.LastIndex(own, "/")+1:])
	} else {
		arn, profile.Roles = cfn.Att(roleID, "Arn"), []cfn.Text{cfn.Ref(roleID)}
		p.add(cfn.Resource{ID: roleID, Properties: m.role(who, path, named("role"), rights)})
	}
	p.add(cfn.Resource{ID: profileID, Properties: profile})
	return given{cfn.Profile{Arn: cfn.Att(profileID, "Arn")}, []cfn.Text{arn}}
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
	for _, item := range who.view.Key("AdditionalIamPolicies").Items() {
		role.ManagedPolicyArns = append(role.ManagedPolicyArns, cfn.Lit(item.Key("Policy").Text()))
	}
	return role
}

// iamName is the path of roles and profiles, and their names: CloudFormation's
// choice, unless the file's ResourcePrefix has the beginning of one.
func (m *maker) iamName(who string) (path string, named func(kind string) string) {
	prefix := m.file.At("Iam.ResourcePrefix").Text()
	at := strings.LastIndex(prefix, "/") + 1
	path, begin := prefix[:at], prefix[at:]
	if path == "" {
		path = "/muster/"
	}
	return path + m.facts.Name + "/", func(kind string) string {
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
