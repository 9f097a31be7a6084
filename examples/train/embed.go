// Package train carries the training program and the batch script that the demo runs.
// The program is Python; see README.md for what it promises.
package train

import "embed"

// Files holds the program, its batch script and their README, all in the root.
//
//go:embed *.py train.sbatch README.md
var Files embed.FS
