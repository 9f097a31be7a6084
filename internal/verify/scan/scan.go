//go:build linux

// Package scan looks at a machine, and in a container: programs and their versions, GPUs, network devices, mounts, limits, clock.
// It judges nothing.
package scan
