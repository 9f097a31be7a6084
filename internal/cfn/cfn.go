// Package cfn has CloudFormation's words: a template and its resources as typed
// values, so that a misspelt property does not compile. Only properties that
// muster uses are here. A template is written in a fixed order.
package cfn
