// Package examples holds cluster files to begin with, each in a folder with the
// muster.yaml that goes with it, and a training program that needs only a C compiler.
package examples

import "embed"

// Files has the folders guide-80, a cluster of 80 nodes for seven models; demo, the
// same with a short idle time; and bytelm, a program that trains on all 80 nodes.
//
//go:embed all:demo all:guide-80 bytelm/*.c bytelm/*.h bytelm/*.sbatch
var Files embed.FS
