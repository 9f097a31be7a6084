package slurm_test

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/slurm"
)

func ExampleExpand() {
	names, err := slurm.Expand("gpu-dy-p5-[1-2,07],login")
	fmt.Println(names, err)
	// Output: [gpu-dy-p5-1 gpu-dy-p5-2 gpu-dy-p5-07 login] <nil>
}

func ExampleCompress() {
	fmt.Println(slurm.Compress([]string{"gpu-dy-p5-1", "gpu-dy-p5-2", "gpu-dy-p5-3", "login"}))
	// Output: gpu-dy-p5-[1-3],login
}
