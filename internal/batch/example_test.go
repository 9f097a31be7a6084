package batch_test

import (
	"os"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
)

// A script is read, never run. Without facts of a cluster, rules that need them are silent.
func ExampleCheck() {
	script := "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --time=1:00:00:00:00\nsrun train\n"
	_ = diag.WriteText(os.Stdout, batch.Check("train.sbatch", []byte(script), nil, nil), false)
	// Output:
	// train.sbatch:3:9: error: --time=1:00:00:00:00 is no length of time: Slurm refuses it [script/option-value]
	//     #SBATCH --time=1:00:00:00:00
	//             ^
	//   hint: MINUTES, HOURS:MINUTES:SECONDS, DAYS-HOURS or DAYS-HOURS:MINUTES:SECONDS
}
