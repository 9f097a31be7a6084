// Package train carries the training program and the batch scripts that the demo runs.
// The program is Python; see README.md for what it promises.
package train

import "embed"

// Files holds the program, its batch scripts and their README, all in the root.
//
//go:embed *.py *.sbatch README.md
var Files embed.FS
