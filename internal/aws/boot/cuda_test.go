package boot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCUDAProbe runs the probe against libraries that answer as NVIDIA's do.
func TestCUDAProbe(t *testing.T) {
	for _, p := range []string{"python3", "cc"} {
		if _, err := exec.LookPath(p); err != nil && os.Getenv("MUSTER_CI") != "" {
			t.Fatal("needs " + p)
		} else if err != nil {
			t.Skip("needs " + p)
		}
	}
	library := func(code, count int, name string) string {
		return fmt.Sprintf(`int cuInit(unsigned f) { return f ? 1 : %d; }
int cuDeviceGetCount(int *n) { *n = %d; return 0; }
int cuGetErrorName(int c, const char **n) { *n = "%s"; return c != %d; }
`, code, count, name, code)
	}
	for name, row := range map[string]struct{ source, detail, err string }{
		"starts":     {library(0, 8, "CUDA_SUCCESS"), "CUDA starts on 8 GPUs", ""},
		"one_lost":   {library(0, 7, "CUDA_SUCCESS"), "", "CUDA sees 7 GPUs, and there should be 8"},
		"no_fabric":  {library(802, 0, "CUDA_ERROR_SYSTEM_NOT_READY"), "", "CUDA does not start: error 802 CUDA_ERROR_SYSTEM_NOT_READY"},
		"no_library": {"", "blind: CUDA's library was not loaded: none libcuda.so.1: cannot open shared object file: No such file or directory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if row.source != "" {
				cc := exec.Command("cc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "-x", "c", "-")
				cc.Stdin = strings.NewReader(row.source)
				if out, err := cc.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			probe := exec.Command("python3", "-I", "-c", cudaProbe)
			probe.Env = []string{"PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + dir}
			out, err := probe.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			detail, _, err := cudaSays(string(out), 8)
			if detail != row.detail || text(err) != row.err {
				t.Errorf("got %q, %v", detail, err)
			}
		})
	}
}
