// Package examples holds cluster files to begin with, each in a folder with the
// muster.yaml that goes with it.
package examples

import "embed"

// Files has the folders guide-80, a cluster of 80 nodes for seven models, and
// demo, the same with a short idle time.
//
//go:embed all:demo all:guide-80
var Files embed.FS
