package formation

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// parameter is the declaration of a parameter in a template.
type parameter struct {
	Type, Description, ConstraintDescription string
	Default                                  any
	NoEcho                                   any
	AllowedValues                            []any
	AllowedPattern                           string
	MinLength, MaxLength, MinValue, MaxValue any
}

func (p *parameter) secret() bool { return text(p.NoEcho) == "true" }

func (p *parameter) many() bool {
	return p.Type == "CommaDelimitedList" || strings.HasPrefix(p.Type, "List<") || strings.HasPrefix(p.Type, "AWS::SSM::Parameter::Value<List<")
}

// given are parameters as they were sent: the text, before lists are split.
type given map[string]string

// arguments reads a call's parameters. UsePreviousValue takes those of before.
func (r request) arguments(t *template, before given) (given, error) {
	out := given{}
	var unknown []string
	for _, p := range r.structs("Parameters") {
		name := p["ParameterKey"]
		if t.Parameters[name] == nil {
			unknown = append(unknown, name)
			continue
		}
		if p["UsePreviousValue"] == "true" {
			v, ok := before[name]
			if !ok {
				return nil, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", name)
			}
			out[name] = v
			continue
		}
		out[name] = p["ParameterValue"]
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, invalid("Parameters: [%s] do not exist in the template", strings.Join(unknown, ", "))
	}
	return out, t.complete(out)
}

// complete adds defaults and checks what was given.
func (t *template) complete(g given) error {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p := t.Parameters[name]
		if _, ok := g[name]; !ok {
			if p.Default == nil {
				missing = append(missing, name)
				continue
			}
			g[name] = text(p.Default)
		}
	}
	if len(missing) > 0 {
		return invalid("Parameters: [%s] must have values", strings.Join(missing, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		if err := t.Parameters[name].check(name, g[name]); err != nil {
			return err
		}
	}
	return nil
}

// check holds a value against the declaration. The texts are those that users report;
// AWS documents the constraints only:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
func (p *parameter) check(name, v string) error {
	values := []string{v}
	if p.many() {
		values = strings.Split(v, ",")
	}
	for _, v := range values {
		if said := p.wrong(strings.TrimSpace(v)); said != "" {
			if p.ConstraintDescription != "" {
				return invalid("Parameter %s failed to satisfy constraint: %s", name, p.ConstraintDescription)
			}
			return invalid("Parameter '%s' must %s", name, said)
		}
	}
	return nil
}

func (p *parameter) wrong(v string) string {
	number, err := strconv.ParseFloat(v, 64)
	if strings.Contains(p.Type, "Number") && err != nil {
		return "be a number"
	}
	limit := func(of any) (float64, bool) {
		n, err := strconv.ParseFloat(text(of), 64)
		return n, err == nil
	}
	if n, ok := limit(p.MinLength); ok && float64(len(v)) < n {
		return "contain at least " + text(p.MinLength) + " characters"
	}
	if n, ok := limit(p.MaxLength); ok && float64(len(v)) > n {
		return "contain at most " + text(p.MaxLength) + " characters"
	}
	if n, ok := limit(p.MinValue); ok && number < n {
		return "be a number not less than " + text(p.MinValue)
	}
	if n, ok := limit(p.MaxValue); ok && number > n {
		return "be a number not greater than " + text(p.MaxValue)
	}
	if p.AllowedPattern != "" {
		if ok, err := regexp.MatchString("^(?:"+p.AllowedPattern+")$", v); err != nil || !ok {
			return "match pattern " + p.AllowedPattern
		}
	}
	if len(p.AllowedValues) > 0 && !slices.Contains(textsOf(p.AllowedValues), v) {
		return "be one of AllowedValues"
	}
	return ""
}

// arguments are the parameters as functions see them: lists split, and the values of
// those that name a parameter of Systems Manager.
func (s *Service) values(ctx context.Context, t *template, g given) (map[string]any, error) {
	out := map[string]any{}
	for name, p := range t.Parameters {
		v := g[name]
		if strings.HasPrefix(p.Type, "AWS::SSM::Parameter::Value<") {
			got, err := s.aws.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: &v})
			if err != nil {
				return nil, invalid("Unable to fetch parameters [%s] from parameter store for this account.", v)
			}
			v = *got.Parameter.Value
		}
		if !p.many() {
			out[name] = v
			continue
		}
		var parts []any
		for _, e := range strings.Split(v, ",") {
			parts = append(parts, strings.TrimSpace(e))
		}
		out[name] = parts
	}
	return out, nil
}

// shown are the parameters as stacks are described: secrets are masked.
func (t *template) shown(g given) []fields {
	var out []fields
	for _, name := range slices.Sorted(maps.Keys(g)) {
		v := g[name]
		if p := t.Parameters[name]; p != nil && p.secret() {
			v = "****"
		}
		out = append(out, fields{"ParameterKey": name, "ParameterValue": v})
	}
	return out
}

// plain makes a value of properties comparable: all scalars are texts.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	}
	return text(v)
}

// canon is a value of properties as text, for comparison and for change sets.
func canon(v any) string {
	b, err := json.Marshal(plain(v))
	if err != nil {
		panic(err) // values from JSON
	}
	return string(b)
}
