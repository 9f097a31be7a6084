//go:build !linux

package layer

import "os"

// writeOut starts nothing: when files go to disk is the system's business here.
func writeOut(_ *os.File, from, _ int64) int64 { return from }
