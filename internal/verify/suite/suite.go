//go:build linux

// Package suite runs suites as jobs on Slurm's nodes, gathers what they say, and has it judged.
package suite
