package meter

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/growth"
)

// TestBounds has long outputs made of what could take readers longest: no time grows with the square of the length.
func TestBounds(t *testing.T) {
	for name, unit := range map[string]string{
		"empty":   "\n",
		"braces":  "{\n",
		"nested":  "[",
		"commas":  ",",
		"json":    `{"version":3,"results":[{"size":1},`,
		"quotes":  `"`,
		"row":     "           8             2     float     sum      -1     0.00    0.00    0.00     N/A     0.00    0.00    0.00     N/A\n",
		"nccl":    "a:1:1 [0] NCCL INFO Channel 00/0 : 3[3] -> 14[6] [send] via NET/Libfabric/3/GDRDMA\n",
		"fi_info": "provider: efa\n",
		"gpu":     "GPU0 X\n",
		"list":    "GPU 0: x (UUID: y)\n",
		"link":    " Link 0: 25 GB/s\n",
		"pci":     "0000:53:00.0 0302: 10de:2330\n",
		"dcgm":    "| GPU Memory | Fail - GPU: 0 |\n| | x |\n| Warning | x |\n| | y |\n",
		"escapes": "\x1b[4m",
		"colons":  "[1,0]<stdout>:a : b\n",
	} {
		heads := []string{"", "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\nGPU0 GPU1\n", `{"version":3,"results":[{`}
		for i, head := range heads[:1+len(name)%3] {
			for pattern, read := range readers() {
				t.Run(fmt.Sprintf("%s_%d_%s", name, i, pattern), func(t *testing.T) {
					growth.Linear(t, (256<<10)/len(unit), func(n int) { read(append([]byte(head), bytes.Repeat([]byte(unit), n)...)) })
				})
			}
		}
	}
}
