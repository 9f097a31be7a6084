// Package fsx is FSx in the double of AWS.
package fsx
