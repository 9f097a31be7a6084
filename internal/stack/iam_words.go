package stack

import "github.com/muster-hpc/muster/internal/cfn"

// policies are statements in IAM's current language.
func policies(statements ...cfn.Statement) cfn.Policies {
	return cfn.Policies{Version: "2012-10-17", Statement: statements}
}

// when is a condition: an operator, a key and its values.
func when(operator, key string, values ...cfn.Text) map[string]map[string][]cfn.Text {
	return map[string]map[string][]cfn.Text{operator: {key: values}}
}
