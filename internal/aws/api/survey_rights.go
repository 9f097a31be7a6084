package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// judgement is what a simulation says of actions on all resources.
type judgement struct {
	// denied are refused whatever the resource, narrow not allowed on all of them, unsure
	// depend on conditions whose values are not known.
	denied, narrow, unsure []string
}

// mostSimulated is how many actions one call asks about.
const mostSimulated = 60

// simulate asks IAM what the policies of a user or role say.
func (s *survey) simulate(ctx context.Context, principal string, questions ...question) (judgement, error) {
	var v judgement
	var entries []types.ContextEntry
	for key, value := range s.given() {
		entries = append(entries, types.ContextEntry{ContextKeyName: &key, ContextKeyType: types.ContextKeyTypeEnumString, ContextKeyValues: []string{value}})
	}
	client := iam.NewFromConfig(s.config)
	for _, q := range questions {
		for some := range slices.Chunk(q.actions, mostSimulated) {
			in := &iam.SimulatePrincipalPolicyInput{PolicySourceArn: &principal, ActionNames: some, ContextEntries: entries}
			if q.resource != "" {
				in.ResourceArns = []string{q.resource}
			}
			for page, err := range pagesOf(ctx, iam.NewSimulatePrincipalPolicyPaginator(client, in)) {
				if err != nil {
					return v, err
				}
				for _, r := range page.EvaluationResults {
					v.add(r, q.resource != "")
				}
			}
		}
	}
	return v, nil
}

// add takes a result, which is the whole truth if it is about what the cluster has.
func (v *judgement) add(r types.EvaluationResult, own bool) {
	action := aws.ToString(r.EvalActionName)
	switch {
	case r.EvalDecision == types.PolicyEvaluationDecisionTypeAllowed:
	case unknown(r):
		v.unsure = append(v.unsure, action)
	case r.EvalDecision == types.PolicyEvaluationDecisionTypeExplicitDeny || own || onEverything(action):
		v.denied = append(v.denied, action)
	default:
		v.narrow = append(v.narrow, action)
	}
}

// unknown reports whether a decision depends on conditions whose values the call did not
// give. IAM says so of each resource that was named, and only without one of the action:
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_ResourceSpecificResult.html
func unknown(r types.EvaluationResult) bool {
	return len(r.MissingContextValues) > 0 ||
		slices.ContainsFunc(r.ResourceSpecificResults, func(one types.ResourceSpecificResult) bool { return len(one.MissingContextValues) > 0 })
}

// onEverything says of an action that no policy can allow it on some resources alone,
// so that a simulation on all of them is the whole truth:
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
func onEverything(action string) bool {
	return strings.HasPrefix(action, "ec2:Describe") || action == "tag:GetResources" || action == "cloudwatch:PutMetricData" ||
		strings.HasPrefix(action, "ssmmessages:")
}

// rights asks what the caller may do of what `up` does. The root user may do
// everything, and cannot be simulated.
func (s *survey) rights(ctx context.Context) {
	principal, err := s.principal(ctx)
	if err != nil {
		s.unasked(ofRights, "iam:GetRole", err)
		return
	}
	if strings.HasSuffix(principal, ":root") {
		return
	}
	v, err := s.simulate(ctx, principal, s.questions(whole(actionsOf(s.wanted.Parts)))...)
	if err != nil {
		s.unasked(ofRights, "iam:SimulatePrincipalPolicy", err)
		return
	}
	for _, list := range []*[]string{&v.denied, &v.narrow, &v.unsure} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	s.answer(func(i *inventory.Inventory) { i.Denied, i.Narrow, i.Unsure = v.denied, v.narrow, v.unsure })
}

// principal is the user or role behind the caller. A session's ARN does not say its
// role's path.
func (s *survey) principal(ctx context.Context) (string, error) {
	who, err := arn.Parse(s.who.ARN)
	if err != nil {
		return "", err
	}
	parts := strings.Split(who.Resource, "/")
	switch {
	case who.Service == "iam":
		return s.who.ARN, nil
	case parts[0] != "assumed-role" || len(parts) < 2:
		return "", fmt.Errorf("%s is neither a user nor a role", s.who.ARN)
	}
	out, err := iam.NewFromConfig(s.config).GetRole(ctx, &iam.GetRoleInput{RoleName: &parts[1]})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Role.Arn), nil
}

// roles asks whether roles and profiles are there, and whether the file's own allow
// what its machines do.
func (s *survey) roles(ctx context.Context) {
	client := iam.NewFromConfig(s.config)
	s.eachOne(ofRoles, "iam:GetRole", s.names(ofRoles), func(name string) error {
		roles, err := s.rolesIn(ctx, client, name)
		if err != nil {
			return err
		}
		wrong := ""
		if len(roles) == 0 {
			wrong = "it has no role"
		}
		s.other(ofRoles, name, wrong)
		if strings.Contains(name, profileARN) {
			s.answer(func(i *inventory.Inventory) { i.ProfileRoles = with(i.ProfileRoles, name, roles) })
		}
		for _, role := range roles {
			s.machineRights(ctx, name, role)
		}
		return nil
	})
}

// profileARN is in the ARNs of instance profiles.
const profileARN = ":instance-profile/"

// rolesIn are the ARNs of a role itself, or of those in an instance profile.
func (s *survey) rolesIn(ctx context.Context, client *iam.Client, name string) ([]string, error) {
	short := name[strings.LastIndexByte(name, '/')+1:]
	if !strings.Contains(name, profileARN) {
		out, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: &short})
		if err != nil {
			return nil, err
		}
		return []string{aws.ToString(out.Role.Arn)}, nil
	}
	out, err := client.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &short})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range out.InstanceProfile.Roles {
		all = append(all, aws.ToString(r.Arn))
	}
	return all, nil
}

func (s *survey) machineRights(ctx context.Context, name, role string) {
	var needs []string
	for _, kind := range s.wanted.Roles[name] {
		needs = append(needs, onMachines[kind]...)
	}
	if len(needs) == 0 {
		return
	}
	slices.Sort(needs)
	v, err := s.simulate(ctx, role, question{actions: slices.Compact(needs)})
	if err != nil {
		s.hidden(ofRoleRights, name, because("iam:SimulatePrincipalPolicy", err))
		return
	}
	if lacks := append(v.denied, v.narrow...); len(lacks) > 0 {
		s.answer(func(i *inventory.Inventory) { i.Lacks = with(i.Lacks, name, lacks) })
	}
}
