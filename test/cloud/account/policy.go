package account

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// policy is a policy's document.
type policy struct{ Statement statements }

type statement struct {
	Effect                                   string
	Action, NotAction, Resource, NotResource texts
	Condition                                map[string]map[string]texts
}

// statements are a list, or one alone; texts are the same of texts.
type statements []statement

func (s *statements) UnmarshalJSON(data []byte) error { return oneOrMore(data, (*[]statement)(s)) }

type texts []string

func (t *texts) UnmarshalJSON(data []byte) error { return oneOrMore(data, (*[]string)(t)) }

func oneOrMore[T any](data []byte, into *[]T) error {
	if json.Unmarshal(data, into) == nil {
		return nil
	}
	var one T
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*into = []T{one}
	return nil
}

// policies are the policies of a role or user. there is false if IAM has no such one.
func (s *Service) policies(ctx context.Context, arn string) (all []policy, there bool, err *wire.Error) {
	_, rest, _ := strings.Cut(arn, ":iam::")
	_, rest, _ = strings.Cut(rest, ":")
	kind, name := "Role", rest[strings.LastIndex(rest, "/")+1:]
	if strings.HasPrefix(rest, "user/") {
		kind = "User"
	}
	if s.opts.Moto == nil || strings.HasSuffix(rest, "root") {
		return nil, false, nil
	}
	var list struct {
		Inline   []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
		OfUser   []string `xml:"ListUserPoliciesResult>PolicyNames>member"`
		Attached []string `xml:"ListAttachedRolePoliciesResult>AttachedPolicies>member>PolicyArn"`
		ToUser   []string `xml:"ListAttachedUserPoliciesResult>AttachedPolicies>member>PolicyArn"`
	}
	form := url.Values{"Action": {"List" + kind + "Policies"}, kind + "Name": {name}}
	if err := s.ask(ctx, form, &list); err != nil {
		if err.Code == "NoSuchEntity" {
			return nil, false, nil
		}
		return nil, false, err
	}
	form.Set("Action", "ListAttached"+kind+"Policies")
	if err := s.ask(ctx, form, &list); err != nil {
		return nil, false, err
	}
	for _, p := range append(list.Inline, list.OfUser...) {
		document, err := s.inline(ctx, kind, name, p)
		if err != nil {
			return nil, false, err
		}
		all = append(all, document)
	}
	for _, p := range append(list.Attached, list.ToUser...) {
		document, err := s.managed(ctx, p)
		if err != nil {
			return nil, false, err
		}
		all = append(all, document)
	}
	return all, true, nil
}

func (s *Service) inline(ctx context.Context, kind, name, of string) (policy, *wire.Error) {
	var answer struct {
		Role string `xml:"GetRolePolicyResult>PolicyDocument"`
		User string `xml:"GetUserPolicyResult>PolicyDocument"`
	}
	form := url.Values{"Action": {"Get" + kind + "Policy"}, kind + "Name": {name}, "PolicyName": {of}}
	if err := s.ask(ctx, form, &answer); err != nil {
		return policy{}, err
	}
	return readPolicy(answer.Role + answer.User)
}

func (s *Service) managed(ctx context.Context, arn string) (policy, *wire.Error) {
	var answer struct {
		Version  string `xml:"GetPolicyResult>Policy>DefaultVersionId"`
		Document string `xml:"GetPolicyVersionResult>PolicyVersion>Document"`
	}
	form := url.Values{"Action": {"GetPolicy"}, "PolicyArn": {arn}}
	if err := s.ask(ctx, form, &answer); err != nil {
		return policy{}, err
	}
	form.Set("Action", "GetPolicyVersion")
	form.Set("VersionId", answer.Version)
	if err := s.ask(ctx, form, &answer); err != nil {
		return policy{}, err
	}
	return readPolicy(answer.Document)
}

// readPolicy reads a document, which IAM gives with its special characters escaped.
func readPolicy(document string) (policy, *wire.Error) {
	if plain, err := url.PathUnescape(document); err == nil && !strings.HasPrefix(strings.TrimSpace(document), "{") {
		document = plain
	}
	var p policy
	if err := json.Unmarshal([]byte(document), &p); err != nil {
		return p, internal(fmt.Errorf("read a policy: %w", err))
	}
	return p, nil
}

// ask asks moto's IAM and reads its XML.
func (s *Service) ask(ctx context.Context, form url.Values, into any) *wire.Error {
	form.Set("Version", "2010-05-08")
	answer, err := s.opts.Moto(ctx, wire.NewCall("iam", s.opts.Region, form))
	if err != nil {
		return internal(err)
	}
	if answer.Status != http.StatusOK {
		var refused struct {
			Code    string `xml:"Error>Code"`
			Message string `xml:"Error>Message"`
		}
		_ = xml.Unmarshal(answer.Body, &refused) // what is no XML has no code
		return &wire.Error{Status: answer.Status, Code: refused.Code, Message: refused.Message}
	}
	if err := xml.Unmarshal(answer.Body, into); err != nil {
		return internal(fmt.Errorf("%s: %w", form.Get("Action"), err))
	}
	return nil
}

// decide is what policies say to an action on a resource. What denies goes first:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
func decide(policies []policy, action, resource string, keys map[string][]string) (string, *wire.Error) {
	decision := "implicitDeny"
	for _, p := range policies {
		for _, st := range p.Statement {
			fits, err := st.fits(action, resource, keys)
			if err != nil {
				return "", err
			}
			if fits && st.Effect == "Deny" {
				return "explicitDeny", nil
			}
			if fits {
				decision = "allowed"
			}
		}
	}
	return decision, nil
}

func (st statement) fits(action, resource string, keys map[string][]string) (bool, *wire.Error) {
	lower := func(pattern string) bool { return like(strings.ToLower(pattern), strings.ToLower(action)) }
	named := func(pattern string) bool { return like(pattern, resource) }
	switch {
	case st.Action != nil && !slices.ContainsFunc(st.Action, lower), st.NotAction != nil && slices.ContainsFunc(st.NotAction, lower),
		st.Resource != nil && !slices.ContainsFunc(st.Resource, named), st.NotResource != nil && slices.ContainsFunc(st.NotResource, named):
		return false, nil
	}
	for operator, conditions := range st.Condition {
		for key, want := range conditions {
			ok, err := holds(operator, want, keys[strings.ToLower(key)])
			if err != nil || !ok {
				return false, err
			}
		}
	}
	return true, nil
}

// holds tells whether a condition holds. A key that is not there fails all conditions
// but negated ones and those that end in IfExists.
func holds(operator string, want texts, have []string) (bool, *wire.Error) {
	operator = strings.TrimPrefix(strings.TrimPrefix(operator, "ForAnyValue:"), "ForAllValues:")
	base := strings.TrimSuffix(operator, "IfExists")
	if base != operator && have == nil {
		return true, nil
	}
	some := func(same func(pattern, text string) bool) bool {
		return slices.ContainsFunc(have, func(h string) bool { return slices.ContainsFunc(want, func(w string) bool { return same(w, h) }) })
	}
	equal := func(a, b string) bool { return a == b }
	switch base {
	case "Null":
		return slices.Contains(want, strconv.FormatBool(have == nil)), nil
	case "StringEquals", "ArnEquals":
		return some(equal), nil
	case "StringLike", "ArnLike":
		return some(like), nil
	case "Bool", "StringEqualsIgnoreCase":
		return some(strings.EqualFold), nil
	case "StringNotEquals", "ArnNotEquals":
		return !some(equal), nil
	case "StringNotLike", "ArnNotLike":
		return !some(like), nil
	}
	return false, &wire.Error{Status: http.StatusNotImplemented, Code: "NotImplemented", Message: "the double knows no condition " + operator}
}

// like compares a text with a pattern of * and ?.
func like(pattern, text string) bool {
	before, after, ok := strings.Cut(pattern, "*")
	if !ok {
		return same(pattern, text)
	}
	if len(text) < len(before) || !same(before, text[:len(before)]) {
		return false
	}
	for rest := text[len(before):]; ; rest = rest[1:] {
		if like(after, rest) {
			return true
		}
		if rest == "" {
			return false
		}
	}
}

// same compares texts of which the first may have ? for any character.
func same(pattern, text string) bool {
	if len(pattern) != len(text) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '?' && pattern[i] != text[i] {
			return false
		}
	}
	return true
}
