// Package account asks an AWS account: who we are, what there is of what a cluster
// file names, how much more is allowed, what it costs. It changes nothing.
package account
