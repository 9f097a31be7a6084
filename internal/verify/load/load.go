//go:build linux

// Package load has what measures on nodes: traffic between them, collectives, disks.
package load
