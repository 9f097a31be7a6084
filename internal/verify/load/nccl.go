//go:build linux

package load

import (
	"cmp"
	"path"
	"strconv"
	"strings"
)

// NCCLTest is a program of nccl-tests, to be run by one task for each GPU, for which it has to be built with MPI, or by one for all of a machine.
// https://github.com/NVIDIA/nccl-tests says what its options mean.
type NCCLTest struct {
	// Program is its path, Min the smallest size, "8" if empty, and Max the largest, "4G" if empty.
	Program, Min, Max string
	// GPUs are those of one process, 0 is 1: several where no MPI starts one for each.
	GPUs int
	// Iterations are those of each size, 0 is the program's own number.
	Iterations int
	// JSON is a file to write besides, which must not be there: nccl-tests from 2.17 on; empty is none.
	JSON string
}

// Line is its command line.
func (n NCCLTest) Line() []string {
	line := []string{n.Program, "-b", cmp.Or(n.Min, "8"), "-e", cmp.Or(n.Max, "4G"), "-f", "2", "-g", strconv.Itoa(max(1, n.GPUs))}
	if n.Iterations > 0 {
		line = append(line, "-n", strconv.Itoa(n.Iterations))
	}
	if n.JSON != "" {
		line = append(line, "-J", n.JSON)
	}
	return line
}

// FindNCCLTests is a shell script that prints the path of nccl-tests' program for all_reduce where a machine or an image has it, the
// best place first. Those of NVIDIA's images are built with MPI if they end with _mpi: https://github.com/NVIDIA/nccl-tests (NAME_SUFFIX).
// AWS's Deep Learning AMIs have one for each CUDA below /usr/local/cuda-VERSION/efa/test-cuda-VERSION:
// "NCCL Tests Location" in https://aws.amazon.com/releasenotes/aws-deep-learning-ami-amazon-linux-2/. Images that are built as AWS's examples do have /opt/nccl-tests:
// https://github.com/aws-samples/awsome-distributed-training/tree/main/micro-benchmarks/nccl-tests
const FindNCCLTests = `for p in "$(command -v all_reduce_perf_mpi)" "$NCCL_TESTS_HOME/build/all_reduce_perf" "$(command -v all_reduce_perf)" \
 /opt/nccl-tests/build/all_reduce_perf /usr/local/cuda/efa/test-cuda-*/all_reduce_perf $(ls -d /usr/local/cuda-*/efa/test-cuda-*/all_reduce_perf 2>/dev/null | sort -rV); do
 if [ -f "$p" ] && [ -x "$p" ]; then echo "$p"; fi
done`

// NCCLTestOf is the program for an operation beside the one for all_reduce.
func NCCLTestOf(found, operation string) string {
	dir, name := path.Split(found)
	return dir + strings.Replace(name, "all_reduce", operation, 1)
}

// NCCLTestLibraries are where libraries lie that a program of AWS's Deep Learning AMIs was built with, empty for others: NCCL is in the
// folder of its CUDA there, and MPI and the OFI plugin below /opt/amazon.
func NCCLTestLibraries(found string) string {
	cuda, _, ok := strings.Cut(found, "/efa/test-cuda-")
	if !ok {
		return ""
	}
	return strings.Join([]string{cuda + "/lib", cuda + "/lib64", "/opt/amazon/openmpi/lib", "/opt/amazon/openmpi/lib64", "/opt/amazon/ofi-nccl/lib", "/opt/amazon/efa/lib"}, ":")
}
