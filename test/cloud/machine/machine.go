// Package machine boots what the double of AWS launches: machines in namespaces of
// this one, from their real user data.
package machine
