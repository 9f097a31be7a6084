// Command muster takes a cluster file to a training cluster and back.
package main

import (
	"os"

	"github.com/muster-hpc/muster/internal/cli"
)

func main() { os.Exit(cli.Main()) }
