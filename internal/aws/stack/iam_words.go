package stack

import "github.com/muster-hpc/muster/internal/aws/cfn"

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
