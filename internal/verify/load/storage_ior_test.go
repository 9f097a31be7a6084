package load_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify/load"
)

func TestCommandLinesOfIOR(t *testing.T) {
	dir := load.Place("/fsx", "a1b2c3d4")
	for want, got := range map[string][]string{
		"ior -a POSIX -w -r -F -e -C -l incompressible -t 4194304 -b 8589934592 -D 30 -O stoneWallingWearOut=1 -o /fsx/.muster-verify-a1b2c3d4/ior --posix.odirect": load.IORRun{
			Program: "ior", Dir: dir, Bytes: 8 << 30, Seconds: 30, Direct: true}.Line(),
		"mdtest -n 1000 -F -u -N 1 -d /fsx/.muster-verify-a1b2c3d4/mdtest": load.MDTest("mdtest", dir, 1000),
	} {
		if strings.Join(got, " ") != want {
			t.Errorf("%s", strings.Join(got, " "))
		}
	}
}
