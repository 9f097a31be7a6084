// Package account is quotas, prices and rights in the double of AWS.
package account
