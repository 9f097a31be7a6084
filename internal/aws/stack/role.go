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
	for _, q := range m.file.Scheduling.Queues {
		made := m.profile(p, identity{computePath, id("Queue", q.Name), "queue-" + q.Name, q.IAM}, m.computeRights(p))
		out.queues[q.Name] = made.profile
		passed = append(passed, made.roles...)
	}
	for _, l := range m.file.LoginPools {
		out.pools[l.Name] = m.profile(p, identity{"login/", id("Login", l.Name), "login-" + l.Name, l.IAM}, m.loginRights(p, l)).profile
	}
	out.head = m.profile(p, identity{"", "Head", "head", m.file.HeadNode.IAM}, m.headRights(p, unique(passed))).profile
	return out
}

// identity is a kind of machine with what the file says of its rights.
type identity struct {
	// path is that of its role below the cluster's.
	path     string
	id, name string
	own      spec.IAM
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
	if arn := who.own.InstanceProfile; arn != "" {
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
	if own := who.own.InstanceRole; own != "" {
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
		RoleName: name, Path: path, PermissionsBoundary: m.file.PermissionsBoundary,
		AssumeRolePolicyDocument: policies(cfn.Statement{
			Effect: "Allow", Principal: &cfn.Principal{Service: cfn.Lit("ec2." + m.domain())}, Action: []string{"sts:AssumeRole"},
		}),
		Policies: []cfn.RolePolicy{{PolicyName: "muster", PolicyDocument: policies(rights...)}},
		Tags:     m.tags(who.name),
	}
	if access := m.s3Access(who.own.S3Access); len(access) > 0 {
		role.Policies = append(role.Policies, cfn.RolePolicy{PolicyName: "S3Access", PolicyDocument: policies(access...)})
	}
	m.sizeOf(who, role)
	role.ManagedPolicyArns = cfn.Lits(who.own.Policies...)
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
	prefix := m.file.ResourcePrefix
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
func (m *maker) s3Access(items []spec.S3Access) []cfn.Statement {
	var read, write []cfn.Text
	for _, item := range items {
		resources := cfn.Lits(m.s3(item.Bucket), m.s3(item.Bucket+"/*"))
		if item.Key != "" {
			resources = cfn.Lits(m.s3(item.Bucket + "/" + item.Key))
		}
		if item.Write {
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

// policies are statements in IAM's current language.
func policies(statements ...cfn.Statement) cfn.Policies {
	return cfn.Policies{Version: "2012-10-17", Statement: statements}
}

// allow is a statement that allows.
func allow(sid string, actions []string, resources ...cfn.Text) cfn.Statement {
	return cfn.Statement{Sid: sid, Effect: "Allow", Action: actions, Resource: resources}
}

// conditions are operators with keys and their values.
type conditions = map[string]map[string][]cfn.Text

// when is a condition of one operator with one key.
func when(operator, key string, values ...cfn.Text) conditions {
	return conditions{operator: {key: values}}
}

// only is a statement under a condition.
func only(s cfn.Statement, c conditions) cfn.Statement {
	s.Condition = c
	return s
}

// everything is any resource: what AWS cannot narrow down.
func everything() cfn.Text { return cfn.Lit("*") }
